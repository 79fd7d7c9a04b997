// One optimizer over parameters on several devices.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/tensor/gradient_measure.hpp"
#include "sing/optim/optimizer.hpp"

namespace sing {

class SafetensorsReader;

// A parameter and the device that its memory is on.
struct PlacedParameter {
  Device device;
  Parameter parameter;
};

// Keeps one sing::Optimizer per device, each with all groups. Parameters are numbered over all
// devices in the order in which they were added. The devices have the same options and counters,
// and they skip a step together. All errors are thrown before anything changes.
class MultiDeviceOptimizer {
 public:
  // `make_backend` is asked once per device, and once more if a step must know the gradients of all
  // devices.
  using MakeBackend = std::function<std::shared_ptr<Backend>(const Device&)>;
  MultiDeviceOptimizer(Options defaults, MakeBackend make_backend);

  // Adds a group, in which no tensor may be listed twice, and returns its index.
  std::size_t add_group(const std::vector<PlacedParameter>& parameters,
                        const Overrides& overrides = {});

  std::size_t parameter_count() const { return locations_.size(); }
  std::size_t group_count() const { return group_count_; }
  std::vector<Device> devices() const;
  const std::string& parameter_name(std::size_t parameter) const;
  std::size_t find_parameter(std::string_view name) const;

  // The optimizer of a parameter's device, and the parameter's index there. Gradients and memory
  // must be set by the functions below instead.
  struct Place {
    Optimizer& optimizer;
    std::size_t index;
  };
  Place place_of(std::size_t parameter) const;

  void set_gradient(std::size_t parameter, const void* gradient, Dtype dtype);
  void clear_gradient(std::size_t parameter);
  void set_data(std::size_t parameter, void* data);

  // See Optimizer's functions of these names. An optimizer with shards has one device.
  void set_sum_shards(const SumShards& sum_shards);
  void set_sum_shards_on_device(const SumShardsOnDevice& sum_shards);
  void set_exchange_parts(const ExchangeParts& exchange_parts);

  // Under skip_step and throw, and where a group clips, with gradients on several devices, this
  // measures all gradients twice and waits for the devices: no device may change anything before
  // the gradients of all are known.
  void step(double loss_scale = 1);
  void upload(double loss_scale = 1);

  const Options& defaults() const { return defaults_; }
  const Options& options(std::size_t group) const;
  void set_options(std::size_t group, const Overrides& overrides);
  void set_learning_rate(std::size_t group, double learning_rate);
  // Affects one device; the others keep using the option.
  void set_learning_rate_source(std::size_t group, const Device& device, const float* source);
  void set_learning_rate_factor(double factor);
  double learning_rate_factor() const { return learning_rate_factor_; }
  void set_non_finite(NonFinite policy);

  // The group's steps as LookAhead counts them.
  std::int64_t group_steps(std::size_t group) const;
  void set_group_steps(std::size_t group, std::int64_t steps);

  std::vector<TensorProgress> tensor_progress() const;
  std::vector<double> gradient_norms() const;
  // Sums over the devices; `first_non_finite` counts parameters of this optimizer. Throws a pending
  // NonFiniteError.
  OptimizerProgress status();
  void set_skipped(std::int64_t steps, std::int64_t tensors);
  // The counters of a device, in its own memory; `device` is an index into devices().
  std::shared_ptr<OptimizerProgress> progress_memory(std::size_t device) const;

  void use_slow_weights();
  void use_fast_weights();

  // The file does not depend on which devices hold the parameters.
  void save(const std::filesystem::path& path) const;
  void load(const std::filesystem::path& path);
  std::string save_bytes() const;
  void load_bytes(std::string_view bytes);

 private:
  struct OnDevice {
    Device device;
    std::unique_ptr<Optimizer> optimizer;         // its address stays when a device is added
    std::vector<Parameter> parameters = {};       // with their present data and gradients
    std::optional<GradientMeasure> measure = {};  // made when it is first needed
  };

  struct Location {
    std::size_t device;  // in devices_
    std::size_t index;   // in that device's optimizer
    std::size_t group;
  };

  const Location& location_of(std::size_t parameter) const;
  std::size_t find_device(const Device& device) const;  // devices_.size(): not added yet
  OnDevice make_device(const Device& device) const;
  void check_shards(const std::vector<PlacedParameter>& parameters) const;
  void check_names_and_memory(const std::vector<PlacedParameter>& parameters) const;
  void try_group(const Device& device, std::vector<Parameter> part,
                 const Overrides& overrides) const;
  bool skips_whole_steps() const;
  bool clips() const;
  std::vector<MeasuredGradients> measure_gradients();
  // The norm of all finite gradients together, added up in the order of the parameters.
  double total_norm(const std::vector<MeasuredGradients>& by_device, double loss_scale) const;
  void create_missing_state();
  void load_parts(const SafetensorsReader& file);
  void after_load();

  MakeBackend make_backend_;
  Options defaults_;
  SumShards sum_shards_;
  SumShardsOnDevice sum_shards_on_device_;
  ExchangeParts exchange_parts_;
  double learning_rate_factor_ = 1;
  std::size_t group_count_ = 0;
  std::vector<OnDevice> devices_;
  std::vector<Location> locations_;
};

}  // namespace sing
