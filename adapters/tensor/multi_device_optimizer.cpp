// One optimizer over parameters on several devices.
#include "adapters/tensor/multi_device_optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "adapters/tensor/state_parts.hpp"
#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"
#include "sing/io/atomic_file.hpp"
#include "sing/io/safetensors.hpp"
#include "sing/optim/state_store.hpp"

namespace sing {
namespace {

std::span<const std::byte> as_span(std::string_view bytes) {
  return std::as_bytes(std::span(bytes));
}

// Lists all options of a group except non_finite, which belongs to the whole optimizer.
Overrides all_options(const Options& options) {
  Overrides overrides;
  for (const OptionInfo& info : list_options(options)) {
    if (info.name != "non_finite") {
      overrides.emplace_back(info.name, info.value);
    }
  }
  return overrides;
}

// The parameters that are on one device.
std::vector<Parameter> part_on(const Device& device,
                               const std::vector<PlacedParameter>& parameters) {
  std::vector<Parameter> part;
  for (const PlacedParameter& each : parameters) {
    if (each.device == device) {
      part.push_back(each.parameter);
    }
  }
  return part;
}

}  // namespace

MultiDeviceOptimizer::MultiDeviceOptimizer(Options defaults, MakeBackend make_backend)
    : make_backend_(std::move(make_backend)), defaults_(std::move(defaults)) {
  validate(defaults_);
}

std::vector<Device> MultiDeviceOptimizer::devices() const {
  std::vector<Device> found;
  for (const OnDevice& each : devices_) {
    found.push_back(each.device);
  }
  return found;
}

std::size_t MultiDeviceOptimizer::find_device(const Device& device) const {
  const auto found = std::ranges::find(devices_, device, &OnDevice::device);
  return static_cast<std::size_t>(found - devices_.begin());
}

// Gives a device that joins later the groups, options and counters of the others.
MultiDeviceOptimizer::OnDevice MultiDeviceOptimizer::make_device(const Device& device) const {
  OnDevice made{.device = device,
                .optimizer = std::make_unique<Optimizer>(defaults_, make_backend_(device))};
  made.optimizer->set_learning_rate_factor(learning_rate_factor_);
  made.optimizer->set_sum_shards(sum_shards_);
  made.optimizer->set_sum_shards_on_device(sum_shards_on_device_);
  made.optimizer->set_exchange_parts(exchange_parts_);
  for (std::size_t group = 0; group < group_count_; ++group) {
    made.optimizer->add_group({}, all_options(options(group)));
    const GroupProgress progress{.steps = group_steps(group)};
    made.optimizer->backend().write(made.optimizer->group_progress_memory(group).get(), &progress,
                                    sizeof(progress));
  }
  return made;
}

void MultiDeviceOptimizer::set_sum_shards(const SumShards& sum_shards) {
  sum_shards_ = sum_shards;
  for (OnDevice& each : devices_) {
    each.optimizer->set_sum_shards(sum_shards);
  }
}

void MultiDeviceOptimizer::set_sum_shards_on_device(const SumShardsOnDevice& sum_shards) {
  sum_shards_on_device_ = sum_shards;
  for (OnDevice& each : devices_) {
    each.optimizer->set_sum_shards_on_device(sum_shards);
  }
}

void MultiDeviceOptimizer::set_exchange_parts(const ExchangeParts& exchange_parts) {
  exchange_parts_ = exchange_parts;
  for (OnDevice& each : devices_) {
    each.optimizer->set_exchange_parts(exchange_parts);
  }
}

// With shards, all processes would have to agree on skipped steps, and so would the devices of each
// process.
void MultiDeviceOptimizer::check_shards(const std::vector<PlacedParameter>& parameters) const {
  std::vector<Device> found = devices();
  std::string shard;
  for (const OnDevice& each : devices_) {
    for (const Parameter& parameter : each.parameters) {
      shard = parameter.shard ? parameter.name : shard;
    }
  }
  for (const auto& [device, parameter] : parameters) {
    shard = parameter.shard ? parameter.name : shard;
    if (std::ranges::find(found, device) == found.end()) {
      found.push_back(device);
    }
  }
  SING_CHECK(
      shard.empty() || found.size() == 1,
      "[optimizer] parameter '{}': wanted an optimizer on one device, because it is a shard, "
      "got one on {} devices",
      shard, found.size());
}

void MultiDeviceOptimizer::check_names_and_memory(
    const std::vector<PlacedParameter>& parameters) const {
  std::set<std::string_view> names;
  for (const OnDevice& each : devices_) {
    for (const Parameter& parameter : each.parameters) {
      names.insert(parameter.name);
    }
  }
  std::map<const void*, std::string_view> owners;
  for (const auto& [device, parameter] : parameters) {
    SING_CHECK(names.insert(parameter.name).second,
               "[optimizer] wanted one parameter per name, got two named '{}'", parameter.name);
    if (count_elements(parameter.shape) > 0) {
      const auto [owner, is_new] = owners.emplace(parameter.data, parameter.name);
      SING_CHECK(is_new, "[optimizer] wanted memory of its own for '{}', got that of '{}'",
                 parameter.name, owner->second);
    }
  }
}

// Adds the group to a temporary copy of a device's optimizer, which throws if the real one would.
void MultiDeviceOptimizer::try_group(const Device& device, std::vector<Parameter> part,
                                     const Overrides& overrides) const {
  Optimizer trial(defaults_, make_reference_backend());
  for (std::size_t group = 0; group < group_count_; ++group) {
    std::vector<Parameter> present;
    for (const Location& each : locations_) {
      if (each.group == group && devices_[each.device].device == device) {
        present.push_back(devices_[each.device].parameters[each.index]);
      }
    }
    trial.add_group(std::move(present), all_options(options(group)));
  }
  const std::size_t added = trial.add_group(part, overrides);
  for (const Parameter& parameter : part) {
    check_state_on(device, parameter, trial.options(added));
  }
}

std::size_t MultiDeviceOptimizer::add_group(const std::vector<PlacedParameter>& parameters,
                                            const Overrides& overrides) {
  check_names_and_memory(parameters);
  check_shards(parameters);
  std::vector<Device> involved;
  for (const PlacedParameter& each : parameters) {
    if (std::ranges::find(involved, each.device) == involved.end()) {
      involved.push_back(each.device);
    }
  }
  if (involved.empty() && devices_.empty()) {
    involved.emplace_back();  // a group without parameters is kept on the CPU
  }
  // The optimizer of one device adds its part completely or not at all. With several devices, all
  // parts are tried first, so that none is added if another one is refused.
  if (involved.size() > 1) {
    for (const Device& device : involved) {
      try_group(device, part_on(device, parameters), overrides);
    }
  }
  std::vector<OnDevice> joining;
  for (const Device& device : involved) {
    if (find_device(device) == devices_.size()) {
      joining.push_back(make_device(device));
      joining.back().optimizer->add_group(part_on(device, parameters), overrides);
    } else {
      devices_[find_device(device)].optimizer->add_group(part_on(device, parameters), overrides);
    }
  }
  for (OnDevice& each : devices_) {
    if (std::ranges::find(involved, each.device) == involved.end()) {
      each.optimizer->add_group({}, overrides);
    }
  }
  std::ranges::move(joining, std::back_inserter(devices_));
  for (const auto& [device, parameter] : parameters) {
    const std::size_t place = find_device(device);
    OnDevice& served = devices_[place];
    locations_.push_back({place, served.parameters.size(), group_count_});
    served.parameters.push_back(parameter);
    served.measure.reset();
  }
  return group_count_++;
}

const MultiDeviceOptimizer::Location& MultiDeviceOptimizer::location_of(
    std::size_t parameter) const {
  SING_CHECK(parameter < locations_.size(), "[optimizer] wanted a parameter below {}, got {}",
             locations_.size(), parameter);
  return locations_[parameter];
}

MultiDeviceOptimizer::Place MultiDeviceOptimizer::place_of(std::size_t parameter) const {
  const Location& location = location_of(parameter);
  return {*devices_[location.device].optimizer, location.index};
}

const std::string& MultiDeviceOptimizer::parameter_name(std::size_t parameter) const {
  const Location& location = location_of(parameter);
  return devices_[location.device].parameters[location.index].name;
}

std::size_t MultiDeviceOptimizer::find_parameter(std::string_view name) const {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    if (parameter_name(i) == name) {
      return i;
    }
    known.push_back(parameter_name(i));
  }
  throw std::invalid_argument(fmt::format("[optimizer] wanted the name of a parameter, got '{}'{}",
                                          name, did_you_mean(name, known)));
}

void MultiDeviceOptimizer::set_gradient(std::size_t parameter, const void* gradient, Dtype dtype) {
  const Location& location = location_of(parameter);
  OnDevice& on_device = devices_[location.device];
  Parameter& known = on_device.parameters[location.index];
  if (known.gradient_dtype.value_or(known.dtype) == dtype) {
    on_device.optimizer->set_gradient(location.index, gradient);
  } else {
    on_device.optimizer->set_gradient(location.index, gradient, dtype);
    known.gradient_dtype = dtype;
  }
  known.gradient = gradient;
}

void MultiDeviceOptimizer::clear_gradient(std::size_t parameter) {
  const Location& location = location_of(parameter);
  devices_[location.device].optimizer->set_gradient(location.index, nullptr);
  devices_[location.device].parameters[location.index].gradient = nullptr;
}

void MultiDeviceOptimizer::set_data(std::size_t parameter, void* data) {
  const Location& location = location_of(parameter);
  devices_[location.device].optimizer->set_data(location.index, data);
  devices_[location.device].parameters[location.index].data = data;
}

bool MultiDeviceOptimizer::skips_whole_steps() const {
  return defaults_.non_finite == NonFinite::kSkipStep || defaults_.non_finite == NonFinite::kThrow;
}

bool MultiDeviceOptimizer::clips() const {
  for (std::size_t group = 0; group < group_count_; ++group) {
    if (options(group).clips()) {
      return true;
    }
  }
  return false;
}

std::vector<MeasuredGradients> MultiDeviceOptimizer::measure_gradients() {
  std::vector<MeasuredGradients> by_device;
  for (OnDevice& each : devices_) {
    if (!each.measure) {
      each.measure.emplace(each.parameters, make_backend_(each.device));
    }
    by_device.push_back(each.measure->run(each.parameters));
  }
  return by_device;
}

double MultiDeviceOptimizer::total_norm(const std::vector<MeasuredGradients>& by_device,
                                        double loss_scale) const {
  double squares = 0;
  for (const Location& each : locations_) {
    const Parameter& parameter = devices_[each.device].parameters[each.index];
    const double scaled = by_device[each.device].norms[each.index];
    if (parameter.gradient != nullptr && sum_fits(scaled * scaled, parameter.dtype)) {
      const double norm = scaled / loss_scale;
      squares += norm * norm;
    }
  }
  return std::sqrt(squares);
}

// Running out of memory on one device must not leave the others a step ahead.
void MultiDeviceOptimizer::create_missing_state() {
  for (OnDevice& each : devices_) {
    for (std::size_t i = 0; i < each.parameters.size(); ++i) {
      if (each.parameters[i].gradient != nullptr) {
        each.optimizer->create_state(i);
      }
    }
  }
}

void MultiDeviceOptimizer::step(double loss_scale) {
  if (devices_.size() > 1) {
    create_missing_state();
  }
  std::optional<double> norm;
  if (devices_.size() > 1 && (skips_whole_steps() || clips())) {
    const std::vector<MeasuredGradients> by_device = measure_gradients();
    for (std::size_t i = 0; skips_whole_steps() && i < devices_.size(); ++i) {
      if (!by_device[i].all_finite) {
        devices_[i].optimizer->step(loss_scale);  // skips and counts the step
        devices_[i].optimizer->status();          // throws under kThrow
        return;
      }
    }
    norm = total_norm(by_device, loss_scale);
  }
  for (OnDevice& each : devices_) {
    each.optimizer->set_total_norm(norm);
    each.optimizer->step(loss_scale);
  }
}

void MultiDeviceOptimizer::upload(double loss_scale) {
  for (OnDevice& each : devices_) {
    each.optimizer->upload(loss_scale);
  }
}

const Options& MultiDeviceOptimizer::options(std::size_t group) const {
  SING_CHECK(group < group_count_, "[optimizer] wanted a group below {}, got {}", group_count_,
             group);
  return devices_.front().optimizer->options(group);
}

void MultiDeviceOptimizer::set_options(std::size_t group, const Overrides& overrides) {
  for (const OnDevice& each : devices_) {
    each.optimizer->check_options(group, overrides);
  }
  for (OnDevice& each : devices_) {
    each.optimizer->set_options(group, overrides);
  }
}

void MultiDeviceOptimizer::set_learning_rate(std::size_t group, double learning_rate) {
  for (OnDevice& each : devices_) {
    each.optimizer->set_learning_rate(group, learning_rate);
  }
}

void MultiDeviceOptimizer::set_learning_rate_source(std::size_t group, const Device& device,
                                                    const float* source) {
  const std::size_t place = find_device(device);
  SING_CHECK(place < devices_.size(), "[optimizer] wanted a device of the parameters, got {}",
             name_of(device));
  devices_[place].optimizer->set_learning_rate_source(group, source);
}

void MultiDeviceOptimizer::set_learning_rate_factor(double factor) {
  for (OnDevice& each : devices_) {
    each.optimizer->set_learning_rate_factor(factor);
  }
  learning_rate_factor_ = factor;
}

void MultiDeviceOptimizer::set_non_finite(NonFinite policy) {
  for (OnDevice& each : devices_) {
    each.optimizer->set_non_finite(policy);
  }
  defaults_.non_finite = policy;
}

std::int64_t MultiDeviceOptimizer::group_steps(std::size_t group) const {
  Optimizer& first = *devices_.front().optimizer;
  GroupProgress progress;
  first.backend().read(&progress, first.group_progress_memory(group).get(), sizeof(progress));
  return progress.steps;
}

void MultiDeviceOptimizer::set_group_steps(std::size_t group, std::int64_t steps) {
  const GroupProgress progress{.steps = steps};
  for (OnDevice& each : devices_) {
    each.optimizer->backend().write(each.optimizer->group_progress_memory(group).get(), &progress,
                                    sizeof(progress));
  }
}

std::vector<TensorProgress> MultiDeviceOptimizer::tensor_progress() const {
  std::vector<std::vector<TensorProgress>> by_device;
  for (const OnDevice& each : devices_) {
    by_device.push_back(each.optimizer->tensor_progress());
  }
  std::vector<TensorProgress> all;
  for (const Location& each : locations_) {
    all.push_back(by_device[each.device][each.index]);
  }
  return all;
}

std::vector<double> MultiDeviceOptimizer::gradient_norms() const {
  std::vector<double> norms;
  for (const TensorProgress& each : tensor_progress()) {
    norms.push_back(each.gradient_norm);
  }
  return norms;
}

OptimizerProgress MultiDeviceOptimizer::status() {
  OptimizerProgress all;
  std::size_t first = locations_.size();
  for (std::size_t device = 0; device < devices_.size(); ++device) {
    const OptimizerProgress each = devices_[device].optimizer->status();
    all.skipped_steps += each.skipped_steps;
    all.skipped_tensors += each.skipped_tensors;
    for (std::size_t i = 0; i < first && each.first_non_finite != 0; ++i) {
      const bool is_it = locations_[i].device == device &&
                         locations_[i].index + 1 == static_cast<std::size_t>(each.first_non_finite);
      first = is_it ? i : first;
    }
  }
  all.first_non_finite = first < locations_.size() ? static_cast<std::int64_t>(first) + 1 : 0;
  return all;
}

void MultiDeviceOptimizer::set_skipped(std::int64_t steps, std::int64_t tensors) {
  for (OnDevice& each : devices_) {
    const bool is_first = &each == &devices_.front();
    const OptimizerProgress progress{.skipped_steps = is_first ? steps : 0,
                                     .skipped_tensors = is_first ? tensors : 0};
    each.optimizer->backend().write(each.optimizer->optimizer_progress_memory().get(), &progress,
                                    sizeof(progress));
  }
}

std::shared_ptr<OptimizerProgress> MultiDeviceOptimizer::progress_memory(std::size_t device) const {
  return devices_.at(device).optimizer->optimizer_progress_memory();
}

// A device may have no memory for the weights that are put aside.
void MultiDeviceOptimizer::use_slow_weights() {
  std::size_t done = 0;
  try {
    for (; done < devices_.size(); ++done) {
      devices_[done].optimizer->use_slow_weights();
    }
  } catch (...) {
    while (done-- > 0) {
      devices_[done].optimizer->use_fast_weights();
    }
    throw;
  }
}

void MultiDeviceOptimizer::use_fast_weights() {
  for (OnDevice& each : devices_) {
    each.optimizer->use_fast_weights();
  }
}

std::string MultiDeviceOptimizer::save_bytes() const {
  SING_CHECK(!devices_.empty(), "[save] wanted at least one group, got none");
  if (devices_.size() == 1) {
    return devices_.front().optimizer->save_bytes();
  }
  std::vector<std::string> parts;
  for (const OnDevice& each : devices_) {
    parts.push_back(each.optimizer->save_bytes());
  }
  return merge_state(parts);
}

void MultiDeviceOptimizer::save(const std::filesystem::path& path) const {
  if (devices_.size() == 1) {
    devices_.front().optimizer->save(path);
    return;
  }
  const std::string bytes = save_bytes();
  AtomicFile file(path);
  file.write(as_span(bytes));
  file.commit();
}

// Loads on all devices or on none: if one device refuses its part, the others get their earlier
// state back.
void MultiDeviceOptimizer::load_parts(const SafetensorsReader& file) {
  const auto device_of = [&](std::string_view name) {
    for (std::size_t i = 0; i < locations_.size(); ++i) {
      if (parameter_name(i) == name) {
        return locations_[i].device;
      }
    }
    return std::size_t{0};  // the first device refuses a parameter that no device has
  };
  std::vector<std::string> parts;
  std::vector<std::string> before;
  for (std::size_t device = 0; device < devices_.size(); ++device) {
    parts.push_back(part_of_state(
        file, [&](std::string_view name) { return device_of(name) == device; }, device == 0));
    before.push_back(devices_[device].optimizer->save_bytes());
  }
  std::size_t loaded = 0;
  try {
    for (; loaded < devices_.size(); ++loaded) {
      devices_[loaded].optimizer->load_bytes(parts[loaded]);
    }
  } catch (...) {
    while (loaded-- > 0) {
      devices_[loaded].optimizer->load_bytes(before[loaded]);
    }
    throw;
  }
}

void MultiDeviceOptimizer::load_bytes(std::string_view bytes) {
  SING_CHECK(!devices_.empty(), "[load] wanted at least one group, got none");
  if (devices_.size() == 1) {
    devices_.front().optimizer->load_bytes(bytes);
  } else {
    load_parts(SafetensorsReader(as_span(bytes), "bytes"));
  }
  after_load();
}

void MultiDeviceOptimizer::load(const std::filesystem::path& path) {
  SING_CHECK(!devices_.empty(), "[load] wanted at least one group, got none");
  if (devices_.size() == 1) {
    devices_.front().optimizer->load(path);
  } else {
    load_parts(SafetensorsReader(path));
  }
  after_load();
}

void MultiDeviceOptimizer::after_load() {
  learning_rate_factor_ = devices_.front().optimizer->learning_rate_factor();
  if (group_count_ > 0) {
    defaults_.non_finite = options(0).non_finite;
  }
}

}  // namespace sing
