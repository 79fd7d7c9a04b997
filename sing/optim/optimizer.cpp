// Groups, state allocation and the step; formulas and loops live behind the backend.
#include "sing/optim/optimizer.hpp"

#include <atomic>
#include <unordered_map>

#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"
#include "sing/base/strides.hpp"

namespace sing {
// One count for the whole program: a backend may serve several optimizers and must tell their
// requests apart.
std::uint64_t Optimizer::next_version() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

Optimizer::Optimizer(std::vector<Parameter> parameters, Options defaults,
                     std::shared_ptr<Backend> backend)
    : Optimizer(defaults, std::move(backend)) {
  add_group(std::move(parameters));
}

Optimizer::Optimizer(Options defaults, std::shared_ptr<Backend> backend)
    : backend_(backend != nullptr ? std::move(backend) : make_cpu_backend({})),
      defaults_(defaults) {
  validate(defaults_);
  progress_ = backend_->allocate(sizeof(OptimizerProgress));
}

std::size_t Optimizer::add_group(std::vector<Parameter> parameters, const Overrides& overrides) {
  SING_CHECK(!slow_weights_in_use_, "[optimizer] a group was added while slow weights are in use");
  Options options = defaults_;
  for (const auto& [name, value] : overrides) {
    SING_CHECK(name != "non_finite", "[optimizer] non_finite is one for the whole optimizer");
    sing::set_option(options, name, value);
  }
  validate(options);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name.empty()) {
      parameters[i].name = std::to_string(parameters_.size() + i);
    }
    check_parameter(parameters[i], options);
    if (!parameters[i].strides.empty() &&
        is_contiguous(parameters[i].shape, parameters[i].strides)) {
      parameters[i].strides.clear();
    }
  }
  std::vector<Parameter> added = without_repeats(std::move(parameters));
  check_overlap(added);
  std::unordered_map<std::string_view, int> names;
  for (const Record& record : parameters_) {
    ++names[record.parameter.name];
  }
  for (const Parameter& parameter : added) {
    SING_CHECK(++names[parameter.name] == 1, "[optimizer] two parameters are named '{}'",
               parameter.name);
  }

  Group group{.options = options,
              .progress = backend_->allocate(sizeof(GroupProgress)),
              .tensor_progress = backend_->allocate(sizeof(TensorProgress) * added.size())};
  const std::size_t index = groups_.size();
  const std::size_t first = parameters_.size();
  parameters_.reserve(first + added.size());
  tensor_steps_.reserve(first + added.size());
  group_steps_.reserve(index + 1);
  groups_.push_back(std::move(group));
  group_steps_.emplace_back();
  refresh_group_step(index);
  for (Parameter& parameter : added) {
    const Layout layout = layout_of(parameter, groups_[index].options.standardize.centralize_axis);
    parameters_.push_back({std::move(parameter), index, layout, std::nullopt, nullptr});
    TensorStep& step = tensor_steps_.emplace_back();
    step.progress = static_cast<TensorProgress*>(groups_[index].tensor_progress.get()) +
                    (parameters_.size() - 1 - first);
    refresh_tensor_step(parameters_.size() - 1);
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    tensor_steps_[i].name = parameters_[i].parameter.name;  // adding may have moved the text
  }
  version_ = next_version();
  return index;
}

const std::string& Optimizer::parameter_name(std::size_t parameter) const {
  SING_CHECK(parameter < parameters_.size(), "[optimizer] wanted a parameter below {}, got {}",
             parameters_.size(), parameter);
  return parameters_[parameter].parameter.name;
}

std::size_t Optimizer::find_parameter(std::string_view name) const {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].parameter.name == name) {
      return i;
    }
    known.push_back(parameters_[i].parameter.name);
  }
  throw std::invalid_argument(
      fmt::format("[optimizer] no parameter is named '{}'{}", name, did_you_mean(name, known)));
}

void Optimizer::set_gradient(std::size_t parameter, const void* gradient) {
  parameter_name(parameter);
  parameters_[parameter].parameter.gradient = gradient;
  tensor_steps_[parameter].gradient = gradient;
}

void Optimizer::set_gradient(std::size_t parameter, const void* gradient, Dtype dtype) {
  parameter_name(parameter);
  Record& record = parameters_[parameter];
  Parameter changed = record.parameter;
  changed.gradient_dtype = dtype;
  check_parameter(changed, groups_[record.group].options);
  record.parameter.gradient_dtype = dtype;
  tensor_steps_[parameter].gradient_dtype = dtype;
  set_gradient(parameter, gradient);
}

void Optimizer::set_curvature(std::size_t parameter, const void* curvature) {
  SING_CHECK(takes_curvature(parameter) || curvature == nullptr,
             "[optimizer] parameter '{}': wanted a rule that takes curvature, got '{}'",
             parameter_name(parameter),
             name_of(groups_[parameters_[parameter].group].options.rule));
  tensor_steps_[parameter].curvature = curvature;
}

void Optimizer::set_data(std::size_t parameter, void* data) {
  parameter_name(parameter);
  SING_CHECK(!slow_weights_in_use_,
             "[optimizer] a parameter's storage was moved while slow weights are in use");
  Record& record = parameters_[parameter];
  if (record.parameter.data == data) {
    return;
  }
  Parameter changed = record.parameter;
  changed.data = data;
  check_parameter(changed, groups_[record.group].options);
  record.parameter.data = data;
  tensor_steps_[parameter].parameter = data;
  storage_moved_ = true;
  version_ = next_version();
}

void Optimizer::set_low_precision_copy(std::size_t parameter, void* copy, Dtype dtype) {
  parameter_name(parameter);
  Record& record = parameters_[parameter];
  Parameter changed = record.parameter;
  changed.low_precision_copy = copy;
  changed.low_precision_dtype = dtype;
  check_parameter(changed, groups_[record.group].options);
  record.parameter = std::move(changed);
  refresh_tensor_step(parameter);
  version_ = next_version();
}

void Optimizer::refresh_group_step(std::size_t index) {
  const Group& group = groups_[index];
  group_steps_[index] = {.standardize = group.options.standardize,
                         .rule = group.options.rule,
                         .lookahead = group.options.lookahead,
                         .decay_vectors = group.options.decay_vectors,
                         .learning_rate_factor = learning_rate_factor_,
                         .learning_rate_source = group.learning_rate_source,
                         .progress = static_cast<GroupProgress*>(group.progress.get())};
}

void Optimizer::refresh_tensor_step(std::size_t index) {
  const Record& record = parameters_[index];
  const Parameter& parameter = record.parameter;
  TensorStep& step = tensor_steps_[index];
  step.layout = record.layout;
  step.dtype = parameter.dtype;
  step.gradient_dtype = parameter.gradient_dtype.value_or(parameter.dtype);
  step.group = record.group;
  step.parameter = parameter.data;
  step.gradient = parameter.gradient;
  step.low_precision_copy = parameter.low_precision_copy;
  step.low_precision_dtype = parameter.low_precision_dtype;
  if (record.memory) {
    for (std::size_t k = 0; k < kMaxSlots; ++k) {
      step.slots[k] = record.memory->slots[k].get();
    }
    step.slow = record.memory->slow.get();
    step.master = static_cast<float*>(record.memory->master.get());
  }
}

std::vector<Optimizer::StateShape> Optimizer::state_shapes(const Record& record) const {
  return state_shapes(record, groups_[record.group].options);
}

std::vector<Optimizer::StateShape> Optimizer::state_shapes(const Record& record,
                                                           const Options& options) {
  const std::vector<std::int64_t>& shape = record.parameter.shape;
  const Dtype dtype = state_dtype(record.parameter.dtype);
  std::vector<StateShape> shapes;
  std::visit(
      [&](const auto& rule) {
        for (std::size_t k = 0; k < std::size(rule.kSlots); ++k) {
          if (!rule.uses_slot(k, record.layout.factored())) {
            continue;
          }
          const Slot& slot = rule.kSlots[k];
          shapes.push_back({std::string(slot.name), dtype, shape_of(slot.shape, shape)});
        }
      },
      options.rule);
  if (options.lookahead) {
    shapes.push_back({"slow", dtype, shape});
  }
  if (options.master_weights && is_low_precision(record.parameter.dtype)) {
    shapes.push_back({"master", Dtype::kFloat32, shape});
  }
  return shapes;
}

std::shared_ptr<void>& Optimizer::array_of(Memory& memory, const Rule& rule,
                                           std::string_view slot) {
  if (slot == "slow") {
    return memory.slow;
  }
  if (slot == "master") {
    return memory.master;
  }
  const std::size_t index = std::visit(
      [&](const auto& each) {
        std::size_t k = 0;
        while (each.kSlots[k].name != slot) {
          ++k;
        }
        return k;
      },
      rule);
  return memory.slots[index];
}

Optimizer::Memory Optimizer::allocate_state(const Record& record) const {
  Memory memory;
  for (const StateShape& each : state_shapes(record)) {
    array_of(memory, groups_[record.group].options.rule, each.slot) =
        backend_->allocate(count_elements(each.shape) * size_of(each.dtype));
  }
  return memory;
}

// All of it before any of it is put in place: running out of memory changes nothing.
void Optimizer::allocate_missing_state() {
  std::vector<std::pair<std::size_t, Memory>> fresh;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].parameter.gradient != nullptr && !parameters_[i].memory) {
      fresh.emplace_back(i, allocate_state(parameters_[i]));
    }
  }
  for (auto& [index, memory] : fresh) {
    parameters_[index].memory = std::move(memory);
    refresh_tensor_step(index);
  }
  version_ = fresh.empty() ? version_ : next_version();
}

void Optimizer::create_state(std::size_t parameter) {
  parameter_name(parameter);
  if (!parameters_[parameter].memory) {
    parameters_[parameter].memory = allocate_state(parameters_[parameter]);
    refresh_tensor_step(parameter);
    version_ = next_version();
  }
}

void Optimizer::step(double loss_scale) {
  SING_CHECK(!slow_weights_in_use_,
             "[optimizer] a step was asked for while slow weights are in use");
  SING_CHECK(loss_scale > 0 && std::isfinite(loss_scale),
             "[optimizer] loss_scale must be positive and finite, got {}", loss_scale);
  backend_->step(prepare_request(loss_scale));
  if (backend_->synchronous()) {
    throw_non_finite(read_progress());
  }
}

StepRequest Optimizer::prepare_request(double loss_scale) {
  if (storage_moved_) {
    check_overlap({});
    storage_moved_ = false;
  }
  allocate_missing_state();
  return {.groups = group_steps_,
          .tensors = tensor_steps_,
          .progress = static_cast<OptimizerProgress*>(progress_.get()),
          .non_finite = defaults_.non_finite,
          .loss_scale = loss_scale,
          .version = version_};
}

void Optimizer::upload(double loss_scale) { backend_->upload(prepare_request(loss_scale)); }

OptimizerProgress Optimizer::read_progress() const {
  OptimizerProgress progress;
  backend_->read(&progress, progress_.get(), sizeof(progress));
  return progress;
}

void Optimizer::throw_non_finite(const OptimizerProgress& progress) {
  if (defaults_.non_finite != NonFinite::kThrow || progress.first_non_finite == 0) {
    return;
  }
  OptimizerProgress cleared = progress;
  cleared.first_non_finite = 0;
  backend_->write(progress_.get(), &cleared, sizeof(cleared));
  const auto index = static_cast<std::size_t>(progress.first_non_finite - 1);
  throw NonFiniteError(fmt::format(
      "[optimizer] wanted finite gradients, but that of {} is not; the step changed nothing",
      describe(parameters_[index].parameter)));
}

OptimizerProgress Optimizer::status() {
  const OptimizerProgress progress = read_progress();
  throw_non_finite(progress);
  return progress;
}

std::vector<TensorProgress> Optimizer::tensor_progress() const {
  std::vector<TensorProgress> all(parameters_.size());
  std::size_t first = 0;
  while (first < parameters_.size()) {
    const std::size_t group = parameters_[first].group;
    std::size_t last = first;
    while (last < parameters_.size() && parameters_[last].group == group) {
      ++last;
    }
    backend_->read(&all[first], groups_[group].tensor_progress.get(),
                   sizeof(TensorProgress) * (last - first));
    first = last;
  }
  return all;
}

std::vector<double> Optimizer::gradient_norms() const {
  std::vector<double> norms;
  for (const TensorProgress& progress : tensor_progress()) {
    norms.push_back(progress.gradient_norm);
  }
  return norms;
}

std::vector<StateTensor> Optimizer::state(std::size_t parameter) const {
  const std::string& name = parameter_name(parameter);
  const Record& record = parameters_[parameter];
  std::vector<StateTensor> tensors;
  if (!record.memory) {
    return tensors;
  }
  Memory memory = *record.memory;
  for (StateShape& each : state_shapes(record)) {
    tensors.push_back({fmt::format("{}.{}", name, each.slot), each.dtype, std::move(each.shape),
                       array_of(memory, groups_[record.group].options.rule, each.slot)});
  }
  return tensors;
}

std::shared_ptr<TensorProgress> Optimizer::progress_memory(std::size_t parameter) const {
  parameter_name(parameter);
  return {groups_[parameters_[parameter].group].tensor_progress, tensor_steps_[parameter].progress};
}

std::shared_ptr<GroupProgress> Optimizer::group_progress_memory(std::size_t group) const {
  options(group);
  return {groups_[group].progress, group_steps_[group].progress};
}

std::shared_ptr<OptimizerProgress> Optimizer::optimizer_progress_memory() const {
  return {progress_, static_cast<OptimizerProgress*>(progress_.get())};
}

std::size_t Optimizer::state_bytes() const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    for (const StateTensor& tensor : state(i)) {
      bytes += count_elements(tensor.shape) * size_of(tensor.dtype);
    }
  }
  return bytes;
}

}  // namespace sing
