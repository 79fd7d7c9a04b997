// Passes LibTorch's parameters, gradients and learning rates to the library's optimizer.
#include "adapters/torch/optimizer.hpp"

#include <ATen/Functions.h>
#include <torch/utils.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <unordered_map>

#include "adapters/torch/libtorch_backend.hpp"
#include "adapters/torch/message.hpp"
#include "sing/base/strides.hpp"

namespace sing::torch {
namespace {

constexpr const char* kArchiveKey = "sing_optimizer_state";

// Stands for the gradient of a part without elements, because null would leave the tensor out.
constexpr double kEmptyPart = 0;

Subject subject(std::string_view role, std::string_view name) {
  return {.where = "torch", .role = role, .name = name};
}

}  // namespace

Optimizer::Optimizer(const Parameters& parameters, Options defaults)
    : Optimizer(std::vector<ParameterGroup>{{parameters, {}}}, std::move(defaults)) {}

Optimizer::Optimizer(const std::vector<ParameterGroup>& groups, Options defaults)
    : ::torch::optim::Optimizer(std::vector<::torch::optim::OptimizerParamGroup>{},
                                std::make_unique<GroupOptions>()),
      optimizer_(std::move(defaults), make_libtorch_backend) {
  static_cast<GroupOptions&>(*defaults_).set_lr(learning_rate_of(optimizer_.defaults().rule));
  for (const ParameterGroup& group : groups) {
    add_group(group.parameters, group.overrides, group.shards);
  }
}

std::vector<NamedTensor> Optimizer::without_repeats(const Parameters& parameters) const {
  std::unordered_map<const void*, std::size_t> groups;  // by tensor
  for (const Entry& entry : entries_) {
    groups.emplace(entry.tensor.unsafeGetTensorImpl(), entry.group);
  }
  std::vector<NamedTensor> kept;
  for (std::size_t i = 0; i < parameters.tensors().size(); ++i) {
    auto [name, tensor] = parameters.tensors()[i];
    name = name.empty() ? std::to_string(entries_.size() + i) : name;
    SING_CHECK(tensor.defined(), "{}wanted a tensor, got an undefined one",
               subject("parameter", name).text());
    SING_CHECK(tensor.is_leaf(), "{}wanted a leaf of the graph, got a result of other tensors",
               subject("parameter", name).text());
    const auto [known, is_new] = groups.emplace(tensor.unsafeGetTensorImpl(), listed_.size());
    SING_CHECK(known->second == listed_.size(),
               "{}wanted a tensor that is in no group, got one of group {}",
               subject("parameter", name).text(), known->second);
    if (is_new) {  // the others are tied weights
      kept.emplace_back(std::move(name), std::move(tensor));
    }
  }
  return kept;
}

void Optimizer::register_group(const Parameters& parameters, const Overrides& overrides,
                               const Shards& shards) {
  std::vector<PlacedParameter> placed;
  std::size_t shards_found = 0;
  std::vector<Entry> added;
  for (const auto& [name, tensor] : without_repeats(parameters)) {
    TensorFacts facts = facts_of("parameter", name, tensor);
    void* const data = tensor.mutable_data_ptr();
    placed.push_back({facts.device,
                      {.name = name,
                       .data = data,
                       .shape = facts.sizes,
                       .strides = facts.strides,
                       .dtype = facts.dtype}});
    const auto shard = shards.find(name);
    if (shard != shards.end()) {
      placed.back().parameter.shard = shard->second;
      ++shards_found;
    }
    added.push_back({.tensor = tensor,
                     .group = listed_.size(),
                     .facts = std::move(facts),
                     .data = data,
                     .is_shard = shard != shards.end()});
  }
  SING_CHECK(shards_found == shards.size(),
             "[torch] group {}: wanted shards of parameters by their names, got {} shards of which "
             "{} name one",
             listed_.size(), shards.size(), shards_found);
  optimizer_.add_group(placed, overrides);
  std::ranges::move(added, std::back_inserter(entries_));
  std::vector<at::Tensor>& listed = listed_.emplace_back();
  for (const auto& [name, tensor] : parameters.tensors()) {
    listed.push_back(tensor);
  }
}

std::size_t Optimizer::add_group(const Parameters& parameters, const Overrides& overrides,
                                 const Shards& shards) {
  take_up_groups();
  register_group(parameters, overrides, shards);
  const std::size_t group = listed_.size() - 1;
  auto own = std::make_unique<GroupOptions>(overrides);
  own->set_lr(learning_rate(group));
  ::torch::optim::Optimizer::add_param_group({listed_[group], std::move(own)});
  return group;
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

// torch's own add_param_group cannot be overridden: a group added through the base class is taken
// up here, before the next use.
void Optimizer::take_up_groups() {
  for (std::size_t group = 0; group < listed_.size(); ++group) {
    const bool is_unchanged =
        std::ranges::equal(param_groups_[group].params(), listed_[group],
                           [](const at::Tensor& a, const at::Tensor& b) { return a.is_same(b); });
    SING_CHECK(is_unchanged,
               "[torch] group {}: wanted the {} tensors that it was added with, got others; "
               "parameters are added by add_group",
               group, listed_[group].size());
  }
  while (listed_.size() < param_groups_.size()) {
    const std::size_t group = listed_.size();
    GroupOptions& own = group_options(group);
    const std::vector<at::Tensor>& tensors = param_groups_[group].params();
    SING_CHECK(own.names().empty() || own.names().size() == tensors.size(),
               "[torch] group {}: wanted a name for each of {} parameters, got {}", group,
               tensors.size(), own.names().size());
    std::vector<NamedTensor> named;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      named.emplace_back(own.names().empty() ? std::string() : own.names()[i], tensors[i]);
    }
    register_group(named, own.overrides(), {});
    if (!own.has_lr()) {
      own.set_lr(learning_rate(group));
    }
  }
}

GroupOptions& Optimizer::group_options(std::size_t group) const {
  auto* const own = dynamic_cast<GroupOptions*>(
      const_cast<::torch::optim::OptimizerOptions*>(&param_groups_[group].options()));
  SING_CHECK(own != nullptr,
             "[torch] group {}: wanted sing::torch::GroupOptions, got options of another optimizer",
             group);
  return *own;
}

double Optimizer::learning_rate(std::size_t group) const {
  return learning_rate_of(optimizer_.options(group).rule);
}

// Takes over the learning rates that schedulers set in torch's groups, before a step or a save.
void Optimizer::adopt_learning_rates() const {
  for (std::size_t group = 0; group < listed_.size(); ++group) {
    const double wanted = group_options(group).get_lr();
    if (wanted != learning_rate(group)) {
      optimizer_.set_learning_rate(group, wanted);
    }
  }
}

// The gradient of a parameter in the parameter's order in memory: the gradient itself or a copy.
// Undefined if the parameter has none.
at::Tensor Optimizer::usable_gradient(std::size_t parameter) const {
  const Entry& entry = entries_[parameter];
  const std::string& name = optimizer_.parameter_name(parameter);
  check_unchanged(view_of(entry.tensor), entry.facts, subject("parameter", name));
  const at::Tensor& gradient = entry.tensor.grad();
  if (!gradient.defined()) {
    return gradient;
  }
  check_gradient(view_of(gradient), entry.facts, subject("gradient of", name));
  return laid_out_as(entry.facts, gradient);
}

// The curvature in the gradient's type and the parameter's order in memory.
at::Tensor Optimizer::usable_curvature(const Entry& entry, const at::Tensor& gradient) const {
  if (!entry.curvature.defined() || !gradient.defined()) {
    return {};
  }
  return laid_out_as(entry.facts, entry.curvature.to(gradient.scalar_type()));
}

std::vector<at::Tensor> Optimizer::hand_over() {
  take_up_groups();
  adopt_learning_rates();
  std::vector<at::Tensor> held;
  held.reserve(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    held.push_back(usable_gradient(i));
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    entry.data = entry.tensor.mutable_data_ptr();
    optimizer_.set_data(i, entry.data);
    const at::Tensor gradient = held[i];
    if (gradient.defined()) {
      const void* const data = gradient.const_data_ptr();
      optimizer_.set_gradient(i, data == nullptr && entry.is_shard ? &kEmptyPart : data,
                              dtype_of(gradient));
    } else {
      optimizer_.clear_gradient(i);
    }
    const at::Tensor& curvature = held.emplace_back(usable_curvature(entry, gradient));
    const auto [optimizer, index] = optimizer_.place_of(i);
    optimizer.set_curvature(index, curvature.defined() ? curvature.const_data_ptr() : nullptr);
  }
  return held;
}

void Optimizer::set_curvature(std::string_view name, const at::Tensor& curvature) {
  take_up_groups();
  const std::size_t parameter = optimizer_.find_parameter(name);
  Entry& entry = entries_[parameter];
  if (curvature.defined()) {
    const auto [optimizer, index] = optimizer_.place_of(parameter);
    SING_CHECK(optimizer.takes_curvature(index), "{}wanted a rule that takes it, got '{}'",
               subject("curvature of", name).text(), name_of(options(entry.group).rule));
    TensorView view = view_of(curvature);
    if (view.dtype) {
      view.dtype = entry.facts.dtype;  // a step converts it to the gradient's type
    }
    check_gradient(view, entry.facts, subject("curvature of", name));
  }
  entry.curvature = curvature.defined() ? curvature.detach() : curvature;
}

// Autograd does not see the library's writes. The version number lets a graph that still needs the
// old values fail instead of using the new ones.
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
  const std::vector<at::Tensor> held = hand_over();
  optimizer_.step(loss_scale);
  bump_versions(true);
}

void Optimizer::upload(double loss_scale) {
  const at::NoGradGuard no_gradients;
  const std::vector<at::Tensor> held = hand_over();
  optimizer_.upload(loss_scale);
}

const Options& Optimizer::options(std::size_t group) const {
  adopt_learning_rates();
  return optimizer_.options(group);
}

void Optimizer::set_option(std::size_t group, std::string_view name, const Value& value) {
  take_up_groups();
  adopt_learning_rates();
  optimizer_.set_options(group, {{std::string(name), value}});
  group_options(group).set_lr(learning_rate(group));
}

void Optimizer::set_learning_rate_factor(double factor) {
  optimizer_.set_learning_rate_factor(factor);
}

at::Tensor Optimizer::keep_copy(std::string_view name, at::ScalarType type) {
  take_up_groups();
  const std::size_t parameter = optimizer_.find_parameter(name);
  Entry& entry = entries_[parameter];
  if (entry.copy.defined() && entry.copy.scalar_type() == type) {
    return entry.copy;
  }
  SING_CHECK(entry.facts.dtype == Dtype::kFloat32 && (type == at::kBFloat16 || type == at::kHalf),
             "[torch] wanted a 16-bit copy of a float32 parameter, got a {} copy of {}", type,
             describe(std::string(name), entry.tensor));
  const at::Tensor copy = entry.tensor.detach().to(type, /*non_blocking=*/false, /*copy=*/true);
  const auto [optimizer, index] = optimizer_.place_of(parameter);
  optimizer.set_low_precision_copy(index, copy.mutable_data_ptr(), dtype_of(copy));
  entry.copy = copy;
  return copy;
}

std::vector<std::string> Optimizer::parameter_names() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    names.push_back(optimizer_.parameter_name(i));
  }
  return names;
}

std::map<std::string, at::Tensor> Optimizer::state_of(std::string_view name) const {
  const std::size_t parameter = optimizer_.find_parameter(name);
  const TensorFacts& facts = entries_[parameter].facts;
  const auto [optimizer, index] = optimizer_.place_of(parameter);
  std::map<std::string, at::Tensor> tensors;
  for (StateTensor& tensor : optimizer.state(index)) {
    // Arrays of the parameter's shape have its strides; others are contiguous.
    const std::vector<std::int64_t> strides =
        tensor.shape == facts.sizes ? facts.strides : contiguous_strides(tensor.shape);
    tensors.emplace(
        tensor.name.substr(name.size() + 1),
        view_memory(std::move(tensor.memory), tensor.dtype, facts.device, tensor.shape, strides));
  }
  return tensors;
}

std::int64_t Optimizer::steps_of(std::string_view name) const {
  return optimizer_.tensor_progress()[optimizer_.find_parameter(name)].steps;
}

std::vector<std::pair<std::string, double>> Optimizer::gradient_norms() const {
  const std::vector<double> norms = optimizer_.gradient_norms();
  std::vector<std::pair<std::string, double>> named;
  for (std::size_t i = 0; i < norms.size(); ++i) {
    named.emplace_back(optimizer_.parameter_name(i), norms[i]);
  }
  return named;
}

OptimizerProgress Optimizer::status() { return optimizer_.status(); }

// The swap writes where the parameters were at the last step.
void Optimizer::check_in_place() const {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    SING_CHECK(entries_[i].tensor.const_data_ptr() == entries_[i].data,
               "{}wanted its memory where it was at the last step, got it elsewhere; take a step "
               "before weights are swapped",
               subject("parameter", optimizer_.parameter_name(i)).text());
  }
}

void Optimizer::use_slow_weights() {
  check_in_place();
  optimizer_.use_slow_weights();
  bump_versions(false);
}

void Optimizer::use_fast_weights() {
  check_in_place();
  optimizer_.use_fast_weights();
  bump_versions(false);
}

void Optimizer::prepare_save() const {
  SING_CHECK(listed_.size() == param_groups_.size(),
             "[save] wanted {} groups, got {}: one was added through the base class; take a step "
             "first",
             listed_.size(), param_groups_.size());
  adopt_learning_rates();
}

std::string Optimizer::save_bytes() const {
  prepare_save();
  return optimizer_.save_bytes();
}

void Optimizer::save(const std::filesystem::path& path) const {
  prepare_save();
  optimizer_.save(path);
}

void Optimizer::save(::torch::serialize::OutputArchive& archive) const {
  const std::string bytes = save_bytes();
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(bytes.size())}, at::kByte);
  std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  archive.write(kArchiveKey, tensor, /*is_buffer=*/true);
}

void Optimizer::load_bytes(std::string_view bytes) {
  take_up_groups();
  optimizer_.load_bytes(bytes);
  after_load();
}

void Optimizer::load(const std::filesystem::path& path) {
  take_up_groups();
  optimizer_.load(path);
  after_load();
}

void Optimizer::load(::torch::serialize::InputArchive& archive) {
  at::Tensor tensor;
  if (!archive.try_read(kArchiveKey, tensor, /*is_buffer=*/true) ||
      tensor.scalar_type() != at::kByte) {
    throw FileError(
        fmt::format("[load] wanted an archive with '{}', got one without", kArchiveKey));
  }
  tensor = tensor.cpu().contiguous();
  load_bytes({static_cast<const char*>(tensor.const_data_ptr()),
              static_cast<std::size_t>(tensor.numel())});
}

std::uint64_t Optimizer::next_state_number() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

void Optimizer::after_load() {
  state_number_ = next_state_number();
  for (std::size_t group = 0; group < listed_.size(); ++group) {
    group_options(group).set_lr(learning_rate(group));
  }
}

}  // namespace sing::torch
