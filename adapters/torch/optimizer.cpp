// The step and what can be asked of it; groups are taken up in optimizer_groups.cpp, files are in
// optimizer_state.cpp.
#include "adapters/torch/optimizer.hpp"

#include <ATen/Functions.h>
#include <torch/utils.h>

#include <algorithm>

#include "adapters/torch/message.hpp"
#include "sing/base/name_list.hpp"

namespace sing::torch {

// Schedulers set the rates of torch's groups; they count from the next step or file on.
void Optimizer::adopt_learning_rates() const {
  for (std::size_t group = 0; group < listed_.size(); ++group) {
    const double wanted = group_options(group).get_lr();
    if (wanted != learning_rate_of(devices_.front().optimizer.options(group).rule)) {
      for (OnDevice& each : devices_) {
        each.optimizer.set_learning_rate(group, wanted);
      }
    }
  }
}

// The gradient of a parameter in the parameter's memory order: itself, a copy, or undefined.
at::Tensor Optimizer::usable_gradient(const Entry& entry) const {
  const at::Tensor& tensor = entry.tensor;
  SING_CHECK(tensor.defined() && tensor.sizes() == entry.shape &&
                 tensor.scalar_type() == entry.type &&
                 tensor.device() == devices_[entry.device].device,
             "[torch] parameter {} was {} {} on {} when the optimizer was made",
             describe(entry.name, tensor), at::IntArrayRef(entry.shape), entry.type,
             devices_[entry.device].device);
  SING_CHECK(tensor.strides() == entry.strides,
             "[torch] parameter {} has strides {}, had {} when the optimizer was made",
             describe(entry.name, tensor), tensor.strides(), at::IntArrayRef(entry.strides));
  const at::Tensor& gradient = tensor.grad();
  if (!gradient.defined()) {
    return gradient;
  }
  const auto who = [&] {
    return fmt::format("[torch] gradient of {}", describe(entry.name, gradient));
  };
  SING_CHECK(gradient.layout() == at::kStrided, "{}: wanted a dense tensor, got a sparse one",
             who());
  SING_CHECK(gradient.device() == tensor.device() && gradient.sizes() == tensor.sizes(),
             "{}: wanted {} on {}", who(), tensor.sizes(), tensor.device());
  SING_CHECK(gradient.is_floating_point() &&
                 (gradient.scalar_type() == at::kDouble) == (entry.type == at::kDouble),
             "{}: a {} parameter cannot take it", who(), entry.type);
  if (same_strides(gradient, tensor)) {
    return gradient;
  }
  return at::empty_strided(tensor.sizes(), tensor.strides(), gradient.options()).copy_(gradient);
}

std::vector<at::Tensor> Optimizer::hand_over() {
  take_up_groups();
  adopt_learning_rates();
  std::vector<at::Tensor> gradients;
  gradients.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    gradients.push_back(usable_gradient(entry));
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    sing::Optimizer& optimizer = devices_[entry.device].optimizer;
    const at::Tensor gradient = gradients[i];
    entry.data = entry.tensor.mutable_data_ptr();
    optimizer.set_data(entry.index, entry.data);
    if (gradient.defined() && gradient.scalar_type() != entry.gradient_type) {
      optimizer.set_gradient(entry.index, gradient.const_data_ptr(), dtype_of(gradient));
      entry.gradient_type = gradient.scalar_type();
    } else {
      optimizer.set_gradient(entry.index, gradient.defined() ? gradient.const_data_ptr() : nullptr);
    }
    const at::Tensor curvature = gradient.defined() ? usable_curvature(entry) : at::Tensor();
    optimizer.set_curvature(entry.index,
                            curvature.defined() ? curvature.const_data_ptr() : nullptr);
    gradients.push_back(curvature);
  }
  return gradients;
}

// In the gradient's type and the parameter's memory order.
at::Tensor Optimizer::usable_curvature(const Entry& entry) const {
  if (!entry.curvature.defined() || (entry.curvature.scalar_type() == entry.gradient_type &&
                                     same_strides(entry.curvature, entry.tensor))) {
    return entry.curvature;
  }
  return at::empty_strided(entry.tensor.sizes(), entry.tensor.strides(),
                           entry.curvature.options().dtype(entry.gradient_type))
      .copy_(entry.curvature);
}

void Optimizer::set_curvature(std::string_view name, const at::Tensor& curvature) {
  take_up_groups();
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& e) { return e.name == name; });
  SING_CHECK(found != entries_.end(), "[torch] no parameter is named '{}'", name);
  SING_CHECK(
      !curvature.defined() || devices_[found->device].optimizer.takes_curvature(found->index),
      "[torch] {}: its rule takes no curvature", describe(found->name, found->tensor));
  SING_CHECK(!curvature.defined() ||
                 (curvature.sizes() == found->tensor.sizes() &&
                  curvature.device() == found->tensor.device() && curvature.is_floating_point()),
             "[torch] curvature of {}: wanted a floating tensor of its shape and device",
             describe(found->name, found->tensor));
  found->curvature = curvature.defined() ? curvature.detach() : curvature;
}

// The library writes behind autograd's back: a graph that still needs the old values must notice.
void Optimizer::bump_versions(bool only_with_gradient) {
  for (const Entry& entry : entries_) {
    if (!only_with_gradient || entry.tensor.grad().defined()) {
      entry.tensor.unsafeGetTensorImpl()->bump_version();
    }
  }
}

at::Tensor Optimizer::step(LossClosure closure) {
  at::Tensor loss;
  if (closure) {
    const at::AutoGradMode gradients_on(true);
    loss = closure();
  }
  step_scaled(1);
  return loss;
}

void Optimizer::step_scaled(double loss_scale) {
  const at::NoGradGuard no_gradients;
  const std::vector<at::Tensor> gradients = hand_over();
  for (OnDevice& each : devices_) {
    each.optimizer.step(loss_scale);
  }
  bump_versions(true);
}

void Optimizer::upload(double loss_scale) {
  const at::NoGradGuard no_gradients;
  const std::vector<at::Tensor> gradients = hand_over();
  for (OnDevice& each : devices_) {
    each.optimizer.upload(loss_scale);
  }
}

const Options& Optimizer::options(std::size_t group) const {
  SING_CHECK(!devices_.empty(), "[torch] the optimizer has no group yet");
  adopt_learning_rates();
  return devices_.front().optimizer.options(group);
}

void Optimizer::set_option(std::size_t group, std::string_view name, const Value& value) {
  take_up_groups();
  adopt_learning_rates();
  Options changed = options(group);
  sing::set_option(changed, name, value);
  for (const Entry& entry : entries_) {
    if (entry.group == group) {
      check_layout(entry.name, entry.tensor, changed);
    }
  }
  for (const OnDevice& each : devices_) {
    each.optimizer.check_options(group, {{std::string(name), value}});
  }
  for (OnDevice& each : devices_) {
    each.optimizer.set_option(group, name, value);
  }
  group_options(group).set_lr(learning_rate_of(devices_.front().optimizer.options(group).rule));
}

void Optimizer::set_learning_rate_factor(double factor) {
  for (OnDevice& each : devices_) {
    each.optimizer.set_learning_rate_factor(factor);
  }
}

at::Tensor Optimizer::keep_copy(std::string_view name, at::ScalarType type) {
  take_up_groups();
  Entry& entry = entries_[index_of(name)];
  if (entry.copy.defined() && entry.copy.scalar_type() == type) {
    return entry.copy;
  }
  SING_CHECK(entry.type == at::kFloat && (type == at::kBFloat16 || type == at::kHalf),
             "[torch] wanted a 16-bit copy of a float32 parameter, got a {} copy of {}", type,
             describe(entry.name, entry.tensor));
  const at::Tensor copy = entry.tensor.detach().to(type, /*non_blocking=*/false, /*copy=*/true);
  devices_[entry.device].optimizer.set_low_precision_copy(entry.index, copy.mutable_data_ptr(),
                                                          dtype_of(copy));
  entry.copy = copy;
  return copy;
}

std::vector<std::string> Optimizer::parameter_names() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) {
    names.push_back(entry.name);
  }
  return names;
}

std::size_t Optimizer::index_of(std::string_view name) const {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].name == name) {
      return i;
    }
  }
  throw std::invalid_argument(fmt::format("[torch] no parameter is named '{}'{}", name,
                                          did_you_mean(name, parameter_names())));
}

const sing::Optimizer& Optimizer::optimizer_of(const Entry& entry) const {
  return devices_[entry.device].optimizer;
}

std::map<std::string, at::Tensor> Optimizer::state_of(std::string_view name) const {
  const Entry& entry = find(name);
  std::map<std::string, at::Tensor> tensors;
  for (StateTensor& tensor : optimizer_of(entry).state(entry.index)) {
    // One value a tensor, or of rules that keep to contiguous parameters.
    const bool is_like_parameter = tensor.shape == entry.shape;
    std::vector<std::int64_t> strides(tensor.shape.size(), 1);
    for (std::size_t axis = tensor.shape.size(); axis-- > 1;) {
      strides[axis - 1] = strides[axis] * tensor.shape[axis];
    }
    tensors.emplace(
        tensor.name.substr(entry.name.size() + 1),
        view_memory(std::move(tensor.memory), tensor.dtype, devices_[entry.device].device,
                    tensor.shape, is_like_parameter ? entry.strides : strides));
  }
  return tensors;
}

std::int64_t Optimizer::steps_of(std::string_view name) const {
  const Entry& entry = find(name);
  return optimizer_of(entry).tensor_progress()[entry.index].steps;
}

std::vector<std::pair<std::string, double>> Optimizer::gradient_norms() const {
  std::vector<std::vector<double>> norms;
  for (const OnDevice& each : devices_) {
    norms.push_back(each.optimizer.gradient_norms());
  }
  std::vector<std::pair<std::string, double>> named;
  for (const Entry& entry : entries_) {
    named.emplace_back(entry.name, norms[entry.device][entry.index]);
  }
  return named;
}

OptimizerProgress Optimizer::status() {
  OptimizerProgress all;
  std::size_t first = entries_.size();
  for (std::size_t device = 0; device < devices_.size(); ++device) {
    const OptimizerProgress each = devices_[device].optimizer.status();
    all.skipped_steps += each.skipped_steps;
    all.skipped_tensors += each.skipped_tensors;
    for (std::size_t i = 0; i < first && each.first_non_finite != 0; ++i) {
      const bool is_it = entries_[i].device == device &&
                         entries_[i].index + 1 == static_cast<std::size_t>(each.first_non_finite);
      first = is_it ? i : first;
    }
  }
  all.first_non_finite = first < entries_.size() ? static_cast<std::int64_t>(first) + 1 : 0;
  return all;
}

// The swap writes where the parameters were at the last step.
void Optimizer::check_in_place() const {
  for (const Entry& entry : entries_) {
    SING_CHECK(entry.tensor.const_data_ptr() == entry.data,
               "[torch] the storage of '{}' was moved since the last step; weights can be swapped "
               "after the next one",
               entry.name);
  }
}

void Optimizer::use_slow_weights() {
  check_in_place();
  for (OnDevice& each : devices_) {
    each.optimizer.use_slow_weights();
  }
  bump_versions(false);
}

void Optimizer::use_fast_weights() {
  check_in_place();
  for (OnDevice& each : devices_) {
    each.optimizer.use_fast_weights();
  }
  bump_versions(false);
}

}  // namespace sing::torch
