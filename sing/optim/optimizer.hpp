// The optimizer: parameters in groups, their state, and the step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sing/backend/backend.hpp"
#include "sing/optim/options.hpp"
#include "sing/optim/parameter.hpp"

namespace sing {

class ParameterStore;
class ProgressStore;
class SafetensorsReader;
class StateStore;
class WeightSwap;
struct SavedOptimizer;

// One array of a parameter's state, in backend memory.
struct StateTensor {
  std::string name;  // "<parameter>.<slot>", the key in state files
  Dtype dtype;
  std::vector<std::int64_t> shape;
  std::shared_ptr<void> memory;  // a copy keeps it alive; load() gives a parameter new memory
};

class Optimizer {
 public:
  // All parameters in one group. Without a backend: CPU, all cores.
  explicit Optimizer(std::vector<Parameter> parameters, Options defaults = {},
                     std::shared_ptr<Backend> backend = nullptr);

  // An optimizer without parameters; add_group() adds them.
  explicit Optimizer(Options defaults, std::shared_ptr<Backend> backend = nullptr);

  ~Optimizer();
  Optimizer(Optimizer&&) noexcept;
  Optimizer& operator=(Optimizer&&) noexcept;

  // Options that `overrides` does not set are the optimizer's defaults. A
  // tensor that is listed twice is one parameter. Returns the group's index.
  // Throws with nothing changed.
  std::size_t add_group(std::vector<Parameter> parameters, const Overrides& overrides = {});

  std::size_t parameter_count() const;
  std::size_t group_count() const { return options_.size(); }
  const std::string& parameter_name(std::size_t parameter) const;
  // The index of a parameter. The name of a repeated listing, which was
  // dropped, is not found.
  std::size_t find_parameter(std::string_view name) const;

  // The gradient of the next step. The step leaves out parameters whose
  // gradient is null.
  void set_gradient(std::size_t parameter, const void* gradient);
  void set_gradient(std::size_t parameter, const void* gradient, Dtype dtype);

  // An estimate of the Hessian's diagonal for the next steps, of the gradient's
  // type and layout and multiplied by the same loss scale. Null uses the
  // gradient instead. Throws if the parameter's rule takes no curvature.
  bool takes_curvature(std::size_t parameter) const;
  void set_curvature(std::size_t parameter, const void* curvature);

  // The parameter's elements, of the same shape and type, have moved to `data`.
  // The next step throws, with nothing changed, if the parameter then shares
  // memory with another one.
  void set_data(std::size_t parameter, void* data);

  // A 16-bit copy of a float32 parameter, of the same shape, that each later
  // step writes; null writes none.
  void set_low_precision_copy(std::size_t parameter, void* copy, Dtype dtype = Dtype::kBFloat16);

  // The function that adds up the sums of shards; a step with a shard needs it. For most rules, and
  // for tensors whose rows are whole, a step calls it once for each sum group in use.
  void set_sum_shards(SumShards sum_shards);
  // A backend on a CUDA device needs this function instead.
  void set_sum_shards_on_device(SumShardsOnDevice sum_shards);

  // The function that exchanges parts of matrices; a step needs it if a rule that makes matrices
  // orthogonal has a shard. A step calls it twice for each sum group in use.
  void set_exchange_parts(ExchangeParts exchange_parts);

  // Allocates the state of a parameter, which otherwise happens in the first
  // step with a gradient.
  void create_state(std::size_t parameter);

  // Updates every parameter that has a gradient. `loss_scale` is the factor
  // that the gradients were multiplied by. Throws NonFiniteError under
  // NonFinite::kThrow; with an asynchronous backend status() throws it.
  void step(double loss_scale = 1);

  // For CUDA graphs: prepares a step without taking it. Call it once before a
  // step is captured, and after each change of an option between replays.
  void upload(double loss_scale = 1);

  const Options& options(std::size_t group) const;
  // Changes options of a group, either all of them or none. The rule, and
  // options that decide which state exists, cannot change.
  void set_options(std::size_t group, const Overrides& overrides);
  void set_option(std::size_t group, std::string_view name, const Value& value);
  // Throws if set_options() would.
  void check_options(std::size_t group, const Overrides& overrides) const;
  void set_learning_rate(double learning_rate);  // for all groups
  void set_learning_rate(std::size_t group, double learning_rate);
  // Steps read the group's learning rate from this backend memory, which must
  // outlive them, so that a captured CUDA graph follows its changes. Null
  // returns to the option. save() writes the value in memory.
  void set_learning_rate_source(std::size_t group, const float* source);
  // The policy of the following steps.
  void set_non_finite(NonFinite policy);
  // The norm that clip_norm bounds in the following steps, for a model of which
  // this optimizer has only some gradients; without one, each step takes the
  // norm of its own finite gradients together.
  void set_total_norm(std::optional<double> norm);
  // A factor of every group's learning rate, as a schedule gives it.
  void set_learning_rate_factor(double factor);
  double learning_rate_factor() const { return learning_rate_factor_; }

  // Norm of each parameter's last gradient, before standardizing, loss scale
  // removed.
  std::vector<double> gradient_norms() const;
  std::vector<TensorProgress> tensor_progress() const;
  // Counts of skipped steps and tensors; throws a pending NonFiniteError.
  OptimizerProgress status();

  // Replaces the parameters by the slow weights of LookAhead, or by the average
  // that a rule keeps (Schedule-Free), until use_fast_weights() restores them exactly. No step may
  // be taken in between.
  void use_slow_weights();
  void use_fast_weights();

  // State files: docs/state_files.md. load() throws FileError or
  // std::invalid_argument with nothing changed, and restores options, counters
  // and state exactly.
  void save(const std::filesystem::path& path) const;
  void load(const std::filesystem::path& path);
  // Returns what save() writes.
  std::string save_bytes() const;
  void load_bytes(std::string_view bytes);

  // The arrays of a parameter's state; empty before its first gradient.
  std::vector<StateTensor> state(std::size_t parameter) const;
  // The counters themselves, in backend memory; a copy of the pointer keeps
  // them alive.
  std::shared_ptr<TensorProgress> progress_memory(std::size_t parameter) const;
  std::shared_ptr<GroupProgress> group_progress_memory(std::size_t group) const;
  std::shared_ptr<OptimizerProgress> optimizer_progress_memory() const;
  std::size_t state_bytes() const;
  std::size_t scratch_bytes() const { return backend_->scratch_bytes(); }
  Backend& backend() { return *backend_; }

 private:
  void check_group_index(std::size_t group) const;
  void check_fast_weights(std::string_view action) const;
  Options changed_options(std::size_t group, const Overrides& overrides) const;
  // Throws unless a group may change to these options.
  void check_replacement(std::size_t group, const Options& options) const;
  void replace_options(std::size_t group, const Options& options);
  double current_learning_rate(std::size_t group) const;

  // Bring the backend's view of a group or a parameter up to date.
  void refresh_group_step(std::size_t group);
  void refresh_tensor_step(std::size_t parameter);
  void allocate_missing_state();
  StepRequest prepare_request(double loss_scale);
  void check_shards() const;
  void throw_non_finite(const OptimizerProgress& progress);

  SavedOptimizer saved(const std::vector<TensorProgress>& progress) const;
  void load(const SafetensorsReader& reader, std::string_view where);
  void restore(const SafetensorsReader& reader);

  std::shared_ptr<Backend> backend_;
  Options defaults_;
  double learning_rate_factor_ = 1;
  std::optional<double> total_norm_;
  SumShards sum_shards_;
  SumShardsOnDevice sum_shards_on_device_;
  ExchangeParts exchange_parts_;
  std::vector<Options> options_;  // by group
  std::unique_ptr<ParameterStore> parameters_;
  std::unique_ptr<StateStore> state_;
  std::unique_ptr<ProgressStore> progress_;
  std::unique_ptr<WeightSwap> weight_swap_;

  // The backend's view of the groups and parameters.
  std::vector<GroupStep> group_steps_;
  std::vector<TensorStep> tensor_steps_;
  std::uint64_t version_ = 0;
};

}  // namespace sing
