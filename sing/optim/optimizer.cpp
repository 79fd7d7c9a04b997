// Composes the stores of an optimizer into its interface and the step.
#include "sing/optim/optimizer.hpp"

#include <atomic>
#include <cmath>

#include "sing/base/message.hpp"
#include "sing/io/safetensors.hpp"
#include "sing/optim/parameter_store.hpp"
#include "sing/optim/progress_store.hpp"
#include "sing/optim/state_file.hpp"
#include "sing/optim/state_store.hpp"
#include "sing/optim/weight_swap.hpp"

namespace sing {
namespace {

// One count for the whole program: a backend may serve several optimizers and
// must tell their requests apart.
std::uint64_t next_version() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

void check_rate(std::string_view name, double rate) {
  SING_CHECK(rate >= 0 && std::isfinite(rate),
             "[optimizer] wanted {} at least 0 and finite, got {}", name, rate);
}

void apply_overrides(Options& options, const Overrides& overrides) {
  for (const auto& [name, value] : overrides) {
    SING_CHECK(name != "non_finite",
               "[optimizer] wanted an option of one group, got 'non_finite'; "
               "set_non_finite() sets "
               "it for all groups");
    set_option(options, name, value);
  }
}

}  // namespace

Optimizer::Optimizer(std::vector<Parameter> parameters, Options defaults,
                     std::shared_ptr<Backend> backend)
    : Optimizer(defaults, std::move(backend)) {
  add_group(std::move(parameters));
}

Optimizer::Optimizer(Options defaults, std::shared_ptr<Backend> backend)
    : backend_(backend != nullptr ? std::move(backend) : make_cpu_backend({})),
      defaults_(defaults),
      parameters_(std::make_unique<ParameterStore>()),
      state_(std::make_unique<StateStore>(backend_)),
      progress_(std::make_unique<ProgressStore>(backend_)),
      weight_swap_(std::make_unique<WeightSwap>(backend_)) {
  validate(defaults_);
}

Optimizer::~Optimizer() = default;
Optimizer::Optimizer(Optimizer&&) noexcept = default;
Optimizer& Optimizer::operator=(Optimizer&&) noexcept = default;

std::size_t Optimizer::add_group(std::vector<Parameter> parameters, const Overrides& overrides) {
  check_fast_weights("add_group");
  Options options = defaults_;
  apply_overrides(options, overrides);
  validate(options);
  std::vector<Parameter> added = parameters_->prepare(std::move(parameters), options);
  for (const Parameter& parameter : added) {
    const std::string_view instead =
        parameter.shard ? backend_->instead_of_shard(options.rule, parameter.shape.size() >= 2)
                        : std::string_view{};
    SING_CHECK(instead.empty(),
               "[optimizer] parameter {}: wanted a whole tensor on {} for rule '{}', got a shard; "
               "{}",
               describe(parameter), name_of(backend_->device()), name_of(options.rule), instead);
    check_state_on(backend_->device(), parameter, options);
  }

  // Everything that may throw comes before the first change.
  const std::size_t group = options_.size();
  const std::size_t count = parameters_->size() + added.size();
  options_.reserve(group + 1);
  group_steps_.reserve(group + 1);
  tensor_steps_.reserve(count);
  parameters_->reserve_more(added.size());
  progress_->add_group(added.size());

  options_.push_back(options);
  group_steps_.emplace_back();
  refresh_group_step(group);
  parameters_->add(std::move(added), group, options.standardize.centralize_axis);
  tensor_steps_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    refresh_tensor_step(i);  // adding may have moved the names of earlier parameters
  }
  version_ = next_version();
  return group;
}

std::size_t Optimizer::parameter_count() const { return parameters_->size(); }

const std::string& Optimizer::parameter_name(std::size_t parameter) const {
  parameters_->check_index(parameter);
  return (*parameters_)[parameter].parameter.name;
}

std::size_t Optimizer::find_parameter(std::string_view name) const {
  return parameters_->find(name);
}

void Optimizer::set_gradient(std::size_t parameter, const void* gradient) {
  parameters_->set_gradient(parameter, gradient);
  tensor_steps_[parameter].gradient = gradient;
}

void Optimizer::set_gradient(std::size_t parameter, const void* gradient, Dtype dtype) {
  parameters_->set_gradient(parameter, gradient, dtype);
  tensor_steps_[parameter].gradient = gradient;
  tensor_steps_[parameter].gradient_dtype = dtype;
}

bool Optimizer::takes_curvature(std::size_t parameter) const {
  parameters_->check_index(parameter);
  return std::visit([]<class R>(const R&) { return kTakesCurvature<R>; },
                    options_[(*parameters_)[parameter].group].rule);
}

void Optimizer::set_curvature(std::size_t parameter, const void* curvature) {
  SING_CHECK(takes_curvature(parameter) || curvature == nullptr,
             "[optimizer] parameter '{}': wanted a rule that takes curvature, got '{}'",
             parameter_name(parameter), name_of(options_[(*parameters_)[parameter].group].rule));
  tensor_steps_[parameter].curvature = curvature;
}

void Optimizer::set_data(std::size_t parameter, void* data) {
  parameters_->check_index(parameter);
  check_fast_weights("set_data");
  if (tensor_steps_[parameter].parameter != data) {
    parameters_->set_data(parameter, data);
    tensor_steps_[parameter].parameter = data;
    version_ = next_version();
  }
}

void Optimizer::set_low_precision_copy(std::size_t parameter, void* copy, Dtype dtype) {
  parameters_->set_low_precision_copy(parameter, copy, dtype);
  refresh_tensor_step(parameter);
  version_ = next_version();
}

void Optimizer::set_sum_shards(SumShards sum_shards) { sum_shards_ = std::move(sum_shards); }

void Optimizer::set_sum_shards_on_device(SumShardsOnDevice sum_shards) {
  sum_shards_on_device_ = std::move(sum_shards);
}

void Optimizer::set_exchange_parts(ExchangeParts exchange_parts) {
  exchange_parts_ = std::move(exchange_parts);
}

void Optimizer::check_shards() const {
  const bool on_device = backend_->device().type != DeviceType::kCpu;
  for (const std::size_t index : parameters_->shards()) {
    const ParameterStore::Entry& each = (*parameters_)[index];
    SING_CHECK(on_device ? sum_shards_on_device_ != nullptr : sum_shards_ != nullptr,
               "[optimizer] parameter {}: wanted {}() before a step with shards, got none",
               describe(each.parameter), on_device ? "set_sum_shards_on_device" : "set_sum_shards");
    SING_CHECK(
        exchange_parts_ || !newton_schulz_of(options_[each.group].rule, each.layout.factored()),
        "[optimizer] parameter {}: wanted set_exchange_parts() before a step with parts of "
        "matrices that rule '{}' makes orthogonal, got none",
        describe(each.parameter), name_of(options_[each.group].rule));
  }
}

void Optimizer::create_state(std::size_t parameter) {
  parameters_->check_index(parameter);
  if (state_->find(parameter) != nullptr) {
    return;
  }
  const auto& [owner, group, layout, shard] = (*parameters_)[parameter];
  StateMemory memory = state_->allocate(state_shapes(owner, options_[group]));
  state_->resize(parameters_->size());
  state_->replace(parameter, std::move(memory));
  refresh_tensor_step(parameter);
  version_ = next_version();
}

// All state is allocated before the first parameter gets its own: running out
// of memory changes nothing.
void Optimizer::allocate_missing_state() {
  std::vector<std::pair<std::size_t, StateMemory>> missing;
  for (std::size_t i = 0; i < parameters_->size(); ++i) {
    const auto& [parameter, group, layout, shard] = (*parameters_)[i];
    if (parameter.gradient != nullptr && state_->find(i) == nullptr) {
      missing.emplace_back(i, state_->allocate(state_shapes(parameter, options_[group])));
    }
  }
  if (missing.empty()) {
    return;
  }
  state_->resize(parameters_->size());
  for (auto& [index, memory] : missing) {
    state_->replace(index, std::move(memory));
    refresh_tensor_step(index);
  }
  version_ = next_version();
}

void Optimizer::step(double loss_scale) {
  check_fast_weights("step");
  SING_CHECK(loss_scale > 0 && std::isfinite(loss_scale),
             "[optimizer] wanted a loss_scale above 0 and finite, got {}", loss_scale);
  backend_->step(prepare_request(loss_scale));
  if (backend_->synchronous()) {
    throw_non_finite(progress_->read_whole());
  }
}

void Optimizer::upload(double loss_scale) { backend_->upload(prepare_request(loss_scale)); }

StepRequest Optimizer::prepare_request(double loss_scale) {
  parameters_->check_moved();
  check_shards();
  allocate_missing_state();
  return {.groups = group_steps_,
          .tensors = tensor_steps_,
          .progress = progress_->whole().get(),
          .non_finite = defaults_.non_finite,
          .loss_scale = loss_scale,
          .total_norm = total_norm_,
          .sum_shards = sum_shards_ ? &sum_shards_ : nullptr,
          .sum_shards_on_device = sum_shards_on_device_ ? &sum_shards_on_device_ : nullptr,
          .exchange_parts = exchange_parts_ ? &exchange_parts_ : nullptr,
          .version = version_};
}

void Optimizer::refresh_group_step(std::size_t group) {
  const Options& options = options_[group];
  GroupStep& step = group_steps_[group];
  step.standardize = options.standardize;
  step.rule = options.rule;
  step.lookahead = options.lookahead;
  step.decay_vectors = options.decay_vectors;
  step.clip_norm = options.clip_norm;
  step.learning_rate_factor = learning_rate_factor_;
  step.progress = progress_->group(group).get();
}

void Optimizer::refresh_tensor_step(std::size_t index) {
  const auto& [parameter, group, layout, shard] = (*parameters_)[index];
  TensorStep& step = tensor_steps_[index];
  step.name = parameter.name;
  step.layout = layout;
  step.shard = shard.get();
  step.dtype = parameter.dtype;
  step.gradient_dtype = parameter.gradient_dtype.value_or(parameter.dtype);
  step.group = group;
  step.parameter = parameter.data;
  step.gradient = parameter.gradient;
  step.low_precision_copy = parameter.low_precision_copy;
  step.low_precision_dtype = parameter.low_precision_dtype;
  step.progress = progress_->tensor(index).get();
  static const StateMemory kNone;
  const StateMemory* const found = state_->find(index);
  const StateMemory& memory = found != nullptr ? *found : kNone;
  for (std::size_t k = 0; k < kMaxSlots; ++k) {
    step.slots[k] = memory[k].get();
  }
  step.state = options_[group].state;
  step.rounding_seed = rounding_seed(parameter);
  step.first_element = first_element(parameter);
  step.slow = memory[kSlowPlace].get();
  step.master = static_cast<float*>(memory[kMasterPlace].get());
}

void Optimizer::check_group_index(std::size_t group) const {
  SING_CHECK(group < options_.size(), "[optimizer] wanted a group below {}, got {}",
             options_.size(), group);
}

void Optimizer::check_fast_weights(std::string_view action) const {
  SING_CHECK(!weight_swap_->slow_in_use(),
             "[{}] wanted fast weights, got slow weights in use; call "
             "use_fast_weights() first",
             action);
}

const Options& Optimizer::options(std::size_t group) const {
  check_group_index(group);
  return options_[group];
}

Options Optimizer::changed_options(std::size_t group, const Overrides& overrides) const {
  Options changed = options(group);
  apply_overrides(changed, overrides);
  return changed;
}

void Optimizer::set_options(std::size_t group, const Overrides& overrides) {
  const Options changed = changed_options(group, overrides);
  check_replacement(group, changed);
  replace_options(group, changed);
}

void Optimizer::set_option(std::size_t group, std::string_view name, const Value& value) {
  set_options(group, {{std::string(name), value}});
}

void Optimizer::check_options(std::size_t group, const Overrides& overrides) const {
  check_replacement(group, changed_options(group, overrides));
}

// The state of one rule means nothing to another, even under the same names.
void Optimizer::check_replacement(std::size_t group, const Options& changed) const {
  validate(changed);
  const Options& present = options_[group];
  SING_CHECK(changed.rule.index() == present.rule.index(),
             "[optimizer] group {}: wanted rule {}, got {}; the rule cannot change", group,
             name_of(present.rule), name_of(changed.rule));
  parameters_->check_options(group, changed);
  for (const auto& [parameter, owner, layout, shard] : *parameters_) {
    if (owner == group) {
      check_same_state(parameter, present, changed);
    }
  }
}

void Optimizer::replace_options(std::size_t group, const Options& changed) {
  const std::int64_t previous_axis = options_[group].standardize.centralize_axis;
  options_[group] = changed;
  refresh_group_step(group);
  if (changed.standardize.centralize_axis == previous_axis) {
    return;
  }
  parameters_->set_centralize_axis(group, changed.standardize.centralize_axis);
  for (std::size_t i = 0; i < parameters_->size(); ++i) {
    tensor_steps_[i].layout = (*parameters_)[i].layout;
    tensor_steps_[i].shard = (*parameters_)[i].shard.get();
  }
  version_ = next_version();
}

void Optimizer::set_learning_rate(double learning_rate) {
  check_rate("learning_rate", learning_rate);
  for (std::size_t group = 0; group < options_.size(); ++group) {
    set_learning_rate(group, learning_rate);
  }
}

void Optimizer::set_learning_rate(std::size_t group, double learning_rate) {
  check_group_index(group);
  check_rate("learning_rate", learning_rate);
  std::visit([&](auto& rule) { rule.learning_rate = learning_rate; }, options_[group].rule);
  refresh_group_step(group);
}

void Optimizer::set_learning_rate_source(std::size_t group, const float* source) {
  check_group_index(group);
  group_steps_[group].learning_rate_source = source;
}

void Optimizer::set_non_finite(NonFinite policy) {
  if (policy == NonFinite::kThrow && policy != defaults_.non_finite) {
    // A gradient that an earlier policy skipped must not make the next step throw.
    OptimizerProgress progress = progress_->read_whole();
    progress.first_non_finite = 0;
    progress_->write_whole(progress);
  }
  defaults_.non_finite = policy;
  for (Options& options : options_) {
    options.non_finite = policy;
  }
}

void Optimizer::set_total_norm(std::optional<double> norm) {
  SING_CHECK(!norm || *norm >= 0, "[optimizer] wanted a total_norm of at least 0, got {}", *norm);
  total_norm_ = norm;
}

void Optimizer::set_learning_rate_factor(double factor) {
  check_rate("learning_rate_factor", factor);
  learning_rate_factor_ = factor;
  for (GroupStep& step : group_steps_) {
    step.learning_rate_factor = factor;
  }
}

std::vector<TensorProgress> Optimizer::tensor_progress() const { return progress_->read_tensors(); }

std::vector<double> Optimizer::gradient_norms() const {
  std::vector<double> norms;
  for (const TensorProgress& progress : tensor_progress()) {
    norms.push_back(progress.gradient_norm);
  }
  return norms;
}

OptimizerProgress Optimizer::status() {
  const OptimizerProgress progress = progress_->read_whole();
  throw_non_finite(progress);
  return progress;
}

void Optimizer::throw_non_finite(const OptimizerProgress& progress) {
  if (defaults_.non_finite != NonFinite::kThrow || progress.first_non_finite == 0) {
    return;
  }
  OptimizerProgress cleared = progress;
  cleared.first_non_finite = 0;
  progress_->write_whole(cleared);
  const auto index = static_cast<std::size_t>(progress.first_non_finite - 1);
  throw NonFiniteError(
      fmt::format("[optimizer] wanted finite gradients, got a non-finite gradient of {}; the step "
                  "changed nothing",
                  describe((*parameters_)[index].parameter)));
}

void Optimizer::use_slow_weights() {
  weight_swap_->use_slow(group_steps_, tensor_steps_, progress_->read_tensors());
}

void Optimizer::use_fast_weights() { weight_swap_->use_fast(tensor_steps_); }

std::vector<StateTensor> Optimizer::state(std::size_t parameter) const {
  parameters_->check_index(parameter);
  std::vector<StateTensor> tensors;
  const StateMemory* const memory = state_->find(parameter);
  if (memory == nullptr) {
    return tensors;
  }
  const auto& [owner, group, layout, shard] = (*parameters_)[parameter];
  for (StateShape& each : state_shapes(owner, options_[group])) {
    tensors.push_back(
        {tensor_name(owner, each), each.dtype, std::move(each.shape), (*memory)[each.place]});
  }
  return tensors;
}

std::shared_ptr<TensorProgress> Optimizer::progress_memory(std::size_t parameter) const {
  parameters_->check_index(parameter);
  return progress_->tensor(parameter);
}

std::shared_ptr<GroupProgress> Optimizer::group_progress_memory(std::size_t group) const {
  check_group_index(group);
  return progress_->group(group);
}

std::shared_ptr<OptimizerProgress> Optimizer::optimizer_progress_memory() const {
  return progress_->whole();
}

std::size_t Optimizer::state_bytes() const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < parameters_->size(); ++i) {
    for (const StateTensor& tensor : state(i)) {
      bytes += count_elements(tensor.shape) * size_of(tensor.dtype);
    }
  }
  return bytes;
}

double Optimizer::current_learning_rate(std::size_t group) const {
  const float* const source = group_steps_[group].learning_rate_source;
  if (source == nullptr) {
    return learning_rate_of(options_[group].rule);
  }
  float rate = 0;
  backend_->read(&rate, source, sizeof(rate));
  return static_cast<double>(rate);
}

SavedOptimizer Optimizer::saved(const std::vector<TensorProgress>& progress) const {
  SavedOptimizer saved{.learning_rate_factor = learning_rate_factor_,
                       .progress = progress_->read_whole(),
                       .groups = {}};
  for (std::size_t group = 0; group < options_.size(); ++group) {
    Options options = options_[group];
    std::visit([&](auto& rule) { rule.learning_rate = current_learning_rate(group); },
               options.rule);
    saved.groups.push_back({options, progress_->read_group(group), {}});
  }
  for (std::size_t i = 0; i < parameters_->size(); ++i) {
    const auto& [parameter, group, layout, shard] = (*parameters_)[i];
    saved.groups[group].parameters.push_back(
        {parameter.name, std::string(name_of(parameter.dtype)), parameter.shape, progress[i]});
  }
  return saved;
}

void Optimizer::save(const std::filesystem::path& path) const {
  check_fast_weights("save");
  const std::vector<TensorProgress> progress = tensor_progress();
  const SavedArrays arrays = collect_arrays(*backend_, *parameters_, options_, *state_, progress);
  write_safetensors(path, to_metadata(saved(progress)), arrays.tensors);
}

std::string Optimizer::save_bytes() const {
  check_fast_weights("save");
  const std::vector<TensorProgress> progress = tensor_progress();
  const SavedArrays arrays = collect_arrays(*backend_, *parameters_, options_, *state_, progress);
  return format_safetensors(to_metadata(saved(progress)), arrays.tensors);
}

void Optimizer::load(const std::filesystem::path& path) {
  load(SafetensorsReader(path), path.string());
}

void Optimizer::load_bytes(std::string_view bytes) {
  load(SafetensorsReader(std::as_bytes(std::span(bytes)), "bytes"), "bytes");
}

void Optimizer::load(const SafetensorsReader& reader, std::string_view where) {
  check_fast_weights("load");
  try {
    restore(reader);
  } catch (const std::invalid_argument& error) {
    throw FileError(fmt::format("[load] {}: {}", where, error.what()));
  }
}

// Everything is read and checked before the first change.
void Optimizer::restore(const SafetensorsReader& reader) {
  const SavedOptimizer saved = from_metadata(reader.metadata());
  SING_CHECK(saved.groups.size() == options_.size(), "wanted {} groups, got {}", options_.size(),
             saved.groups.size());
  std::vector<Options> options;
  for (std::size_t group = 0; group < options_.size(); ++group) {
    options.push_back(saved.groups[group].options);
    check_replacement(group, options[group]);
  }
  const std::vector<TensorProgress> progress = match_parameters(saved, *parameters_);
  std::vector<std::optional<StateMemory>> memories =
      read_arrays(reader, *backend_, *parameters_, options, *state_, progress);
  state_->resize(parameters_->size());

  defaults_.non_finite = options.empty() ? defaults_.non_finite : options[0].non_finite;
  learning_rate_factor_ = saved.learning_rate_factor;
  progress_->write_whole(saved.progress);
  for (std::size_t group = 0; group < options_.size(); ++group) {
    progress_->write_group(group, saved.groups[group].progress);
    replace_options(group, options[group]);
  }
  for (std::size_t i = 0; i < parameters_->size(); ++i) {
    progress_->write_tensor(i, progress[i]);
    state_->replace(i, std::move(memories[i]));
    refresh_tensor_step(i);
  }
  version_ = next_version();
}

}  // namespace sing
