// Taking up groups: what a parameter must be, and which device's optimizer gets it.
#include <set>
#include <unordered_map>
#include <utility>

#include "adapters/torch/message.hpp"
#include "adapters/torch/optimizer.hpp"

namespace sing::torch {

GroupOptions::GroupOptions(Overrides overrides, std::vector<std::string> names)
    : overrides_(std::move(overrides)), names_(std::move(names)) {}

double GroupOptions::get_lr() const {
  SING_CHECK(learning_rate_,
             "[torch] the learning rate of a group is known once the optimizer has taken it up");
  return *learning_rate_;
}

void GroupOptions::set_lr(double learning_rate) {
  SING_CHECK(learning_rate >= 0 && std::isfinite(learning_rate),
             "[torch] the learning rate must be at least 0 and finite, got {}", learning_rate);
  learning_rate_ = learning_rate;
}

Optimizer::Optimizer(const Parameters& parameters, Options defaults)
    : Optimizer(std::vector<ParameterGroup>{{parameters, {}}}, std::move(defaults)) {}

Optimizer::Optimizer(const std::vector<ParameterGroup>& groups, Options defaults)
    : ::torch::optim::Optimizer(std::vector<::torch::optim::OptimizerParamGroup>{},
                                std::make_unique<GroupOptions>()),
      default_options_(std::move(defaults)) {
  validate(default_options_);
  static_cast<GroupOptions&>(*defaults_).set_lr(learning_rate_of(default_options_.rule));
  for (const ParameterGroup& group : groups) {
    add_group(group.parameters, group.overrides);
  }
}

std::vector<NamedTensor> Optimizer::check_group(const Parameters& parameters,
                                                const Overrides& overrides) const {
  Options options = default_options_;
  for (const auto& [name, value] : overrides) {
    sing::set_option(options, name, value);
  }
  validate(options);
  std::set<std::string> names;
  std::unordered_map<const void*, std::string> owners;  // of memory
  std::unordered_map<const void*, std::size_t> seen;    // tensors, by the group they are in
  for (const Entry& entry : entries_) {
    names.insert(entry.name);
    owners.emplace(entry.tensor.const_data_ptr(), entry.name);
    seen.emplace(entry.tensor.unsafeGetTensorImpl(), entry.group);
  }
  std::vector<NamedTensor> kept;
  for (std::size_t i = 0; i < parameters.tensors().size(); ++i) {
    const at::Tensor& tensor = parameters.tensors()[i].second;
    std::string name = parameters.tensors()[i].first;
    name = name.empty() ? std::to_string(entries_.size() + i) : name;
    check_tensor(name, tensor);
    check_layout(name, tensor, options);
    check_device(name, tensor, parameters);
    SING_CHECK(tensor.is_leaf(), "[torch] {}: wanted a leaf of the graph", describe(name, tensor));
    const auto [place, is_new] = seen.emplace(tensor.unsafeGetTensorImpl(), listed_.size());
    SING_CHECK(is_new || place->second == listed_.size(), "[torch] {} is in group {} already",
               describe(name, tensor), place->second);
    if (!is_new) {
      continue;  // tied weights
    }
    SING_CHECK(names.insert(name).second, "[torch] two parameters are named '{}'", name);
    if (tensor.numel() > 0) {
      const auto [owner, is_first] = owners.emplace(tensor.const_data_ptr(), name);
      SING_CHECK(
          is_first,
          "[torch] {} has the memory of '{}', but is another tensor with a gradient of its own",
          describe(name, tensor), owner->second);
    }
    kept.emplace_back(std::move(name), tensor);
  }
  return kept;
}

// Each device measures its own gradients, so that none can know whether another skips the step.
void Optimizer::check_device(const std::string& name, const at::Tensor& tensor,
                             const Parameters& listed) const {
  const NonFinite policy = default_options_.non_finite;
  if (policy != NonFinite::kSkipStep && policy != NonFinite::kThrow) {
    return;
  }
  const at::Tensor& first =
      entries_.empty() ? listed.tensors().front().second : entries_.front().tensor;
  SING_CHECK(first.device() == tensor.device(),
             "[torch] {}: non_finite '{}' wants all parameters on one device, the first is on {}",
             describe(name, tensor), sing::name_of(policy), first.device());
}

Optimizer::OnDevice Optimizer::make_device(const at::Device& device) const {
  OnDevice made{device, sing::Optimizer(default_options_, make_backend(device))};
  for (std::size_t group = 0; group < listed_.size(); ++group) {
    Overrides overrides;
    for (const OptionInfo& info : list_options(options(group))) {
      if (info.name != "non_finite") {
        overrides.emplace_back(info.name, info.value);
      }
    }
    made.optimizer.add_group({}, overrides);
    GroupProgress progress;
    sing::Optimizer& first = devices_.front().optimizer;
    first.backend().read(&progress, first.group_progress_memory(group).get(), sizeof(progress));
    made.optimizer.backend().write(made.optimizer.group_progress_memory(group).get(), &progress,
                                   sizeof(progress));
  }
  if (!devices_.empty()) {
    made.optimizer.set_learning_rate_factor(devices_.front().optimizer.learning_rate_factor());
  }
  return made;
}

std::size_t Optimizer::device_of(const at::Tensor& tensor) {
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (devices_[i].device == tensor.device()) {
      return i;
    }
  }
  devices_.push_back(make_device(tensor.device()));
  return devices_.size() - 1;
}

void Optimizer::register_group(const std::vector<NamedTensor>& tensors,
                               const Overrides& overrides) {
  std::vector<Entry> added;
  for (const auto& [name, tensor] : tensors) {
    added.push_back({.name = name,
                     .tensor = tensor,
                     .group = listed_.size(),
                     .device = device_of(tensor),
                     .index = 0,
                     .shape = shape_of(tensor),
                     .strides = tensor.strides().vec(),
                     .data = tensor.mutable_data_ptr(),
                     .type = tensor.scalar_type(),
                     .gradient_type = tensor.scalar_type()});
  }
  if (devices_.empty()) {
    devices_.push_back(make_device(at::kCPU));  // a group without parameters
  }
  std::vector<std::vector<sing::Parameter>> lists(devices_.size());
  for (Entry& entry : added) {
    entry.index = devices_[entry.device].optimizer.parameter_count() + lists[entry.device].size();
    lists[entry.device].push_back({.name = entry.name,
                                   .data = entry.data,
                                   .shape = entry.shape,
                                   .dtype = dtype_of(entry.tensor)});
  }
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    devices_[i].optimizer.add_group(std::move(lists[i]), overrides);
  }
  entries_.insert(entries_.end(), added.begin(), added.end());
}

std::size_t Optimizer::add_group(const Parameters& parameters, const Overrides& overrides) {
  take_up_groups();
  std::vector<at::Tensor> tensors;
  auto own = std::make_unique<GroupOptions>(overrides);
  for (const auto& [name, tensor] : parameters.tensors()) {
    tensors.push_back(tensor);
    own->names_.push_back(name);
  }
  register_group(check_group(parameters, overrides), overrides);
  own->set_lr(learning_rate_of(devices_[0].optimizer.options(listed_.size()).rule));
  listed_.push_back(tensors.size());
  ::torch::optim::Optimizer::add_param_group({std::move(tensors), std::move(own)});
  return listed_.size() - 1;
}

void Optimizer::add_param_group(const ::torch::optim::OptimizerParamGroup& group) {
  ::torch::optim::Optimizer::add_param_group(group);
  try {
    take_up_groups();
  } catch (...) {
    param_groups_.pop_back();
    throw;
  }
}

GroupOptions& Optimizer::group_options(std::size_t group) {
  return const_cast<GroupOptions&>(std::as_const(*this).group_options(group));
}

const GroupOptions& Optimizer::group_options(std::size_t group) const {
  const auto* own = dynamic_cast<const GroupOptions*>(&param_groups_[group].options());
  SING_CHECK(own != nullptr,
             "[torch] group {}: wanted sing::torch::GroupOptions, got options of another optimizer",
             group);
  return *own;
}

// torch's own add_param_group cannot be overridden: a group added through the base class is taken
// up here, before the next use.
void Optimizer::take_up_groups() {
  for (std::size_t group = 0; group < listed_.size(); ++group) {
    SING_CHECK(param_groups_[group].params().size() == listed_[group],
               "[torch] group {} has {} tensors, had {}: parameters are added by add_group", group,
               param_groups_[group].params().size(), listed_[group]);
  }
  while (listed_.size() < param_groups_.size()) {
    const std::size_t group = listed_.size();
    GroupOptions& own = group_options(group);
    const std::vector<at::Tensor>& tensors = param_groups_[group].params();
    SING_CHECK(own.names_.empty() || own.names_.size() == tensors.size(),
               "[torch] group {}: wanted a name for each of {} parameters, got {}", group,
               tensors.size(), own.names_.size());
    std::vector<NamedTensor> named;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      named.emplace_back(own.names_.empty() ? std::string() : own.names_[i], tensors[i]);
    }
    register_group(check_group(named, own.overrides_), own.overrides_);
    if (!own.learning_rate_) {
      own.set_lr(learning_rate_of(devices_[0].optimizer.options(group).rule));
    }
    listed_.push_back(tensors.size());
  }
}

}  // namespace sing::torch
