// The optimizer: parameters in groups, their state, and the step.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sing/backend/backend.hpp"
#include "sing/optim/options.hpp"
#include "sing/optim/parameter.hpp"

namespace sing {

class SafetensorsReader;
struct TensorBytes;

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

  // No parameters yet: add_group() brings them.
  explicit Optimizer(Options defaults, std::shared_ptr<Backend> backend = nullptr);

  // Options that `overrides` leaves out are the optimizer's defaults. A tensor listed twice is one
  // parameter. Returns the group's index; throws with nothing changed.
  std::size_t add_group(std::vector<Parameter> parameters, const Overrides& overrides = {});

  std::size_t parameter_count() const { return parameters_.size(); }
  std::size_t group_count() const { return groups_.size(); }
  const std::string& parameter_name(std::size_t parameter) const;
  // Index of a parameter; a name that was dropped as a second listing is not found.
  std::size_t find_parameter(std::string_view name) const;

  // The gradient of the next step; null: the parameter sits it out.
  void set_gradient(std::size_t parameter, const void* gradient);
  void set_gradient(std::size_t parameter, const void* gradient, Dtype dtype);

  // An estimate of the Hessian's diagonal for the next steps, of the gradient's type and layout and
  // multiplied by the loss scale as it is; null: the gradient takes its place. Refused where the
  // parameter's rule takes none.
  bool takes_curvature(std::size_t parameter) const;
  void set_curvature(std::size_t parameter, const void* curvature);

  // The parameter's storage moved: later steps find its elements at `data`, of the same shape and
  // type. The next step throws, with nothing changed, if it then shares memory with another one.
  void set_data(std::size_t parameter, void* data);

  // A 16-bit copy that each later step writes beside a float32 parameter, of its shape; null: none.
  void set_low_precision_copy(std::size_t parameter, void* copy, Dtype dtype = Dtype::kBFloat16);

  // Allocates the state of a parameter before its first gradient does.
  void create_state(std::size_t parameter);

  // Updates every parameter that has a gradient. `loss_scale`: what the gradients were multiplied
  // by. Throws NonFiniteError under NonFinite::kThrow (asynchronous backends: from status()).
  void step(double loss_scale = 1);

  // CUDA graphs: prepares a step without taking it. Call it once before a step is captured, and
  // after each change of an option between replays.
  void upload(double loss_scale = 1);

  const Options& options(std::size_t group) const;
  // Any options of a group, now, all of them or none; the rule and what decides which state exists
  // cannot change.
  void set_options(std::size_t group, const Overrides& overrides);
  void set_option(std::size_t group, std::string_view name, const Value& value);
  // Throws what set_options would.
  void check_options(std::size_t group, const Overrides& overrides) const;
  void set_learning_rate(double learning_rate);  // of all groups
  void set_learning_rate(std::size_t group, double learning_rate);
  // Steps read the group's learning rate from backend memory, which must outlive them: a captured
  // CUDA graph then follows its changes. Null: back to the option. save() writes what it holds.
  void set_learning_rate_source(std::size_t group, const float* source);
  // The policy of the following steps.
  void set_non_finite(NonFinite policy);
  // Multiplies the learning rate of every group; what a schedule gives.
  void set_learning_rate_factor(double factor);
  double learning_rate_factor() const { return learning_rate_factor_; }

  // Norm of each parameter's last gradient, before standardizing, loss scale removed.
  std::vector<double> gradient_norms() const;
  std::vector<TensorProgress> tensor_progress() const;
  // Counts of skipped steps and tensors; throws a pending NonFiniteError.
  OptimizerProgress status();

  // LookAhead's slow weights, or the average that a rule keeps (Schedule-Free), take the place of
  // the parameters until use_fast_weights() gives back exactly what was there. No step in between.
  void use_slow_weights();
  void use_fast_weights();

  // State files: docs/state_files.md. load() throws FileError or std::invalid_argument with
  // nothing changed, and restores options, counters and state exactly.
  void save(const std::filesystem::path& path) const;
  void load(const std::filesystem::path& path);
  // The same bytes without a file.
  std::string save_bytes() const;
  void load_bytes(std::string_view bytes);

  // Everything that exists for a parameter by now; empty before its first gradient.
  std::vector<StateTensor> state(std::size_t parameter) const;
  // The counters themselves, in backend memory; a copy keeps them alive.
  std::shared_ptr<TensorProgress> progress_memory(std::size_t parameter) const;
  std::shared_ptr<GroupProgress> group_progress_memory(std::size_t group) const;
  std::shared_ptr<OptimizerProgress> optimizer_progress_memory() const;
  std::size_t state_bytes() const;
  std::size_t scratch_bytes() const { return backend_->scratch_bytes(); }
  Backend& backend() { return *backend_; }

 private:
  // A parameter's state; an unused array is null.
  struct Memory {
    std::array<std::shared_ptr<void>, kMaxSlots> slots;
    std::shared_ptr<void> slow;
    std::shared_ptr<void> master;
  };

  struct Record {
    Parameter parameter;
    std::size_t group;
    Layout layout;
    std::optional<Memory> memory;        // none before the first gradient
    std::shared_ptr<void> fast_weights;  // kept while the slow ones are in use
  };

  struct Group {
    Options options;
    std::shared_ptr<void> progress;         // GroupProgress
    std::shared_ptr<void> tensor_progress;  // TensorProgress of each of its parameters
    const float* learning_rate_source = nullptr;
  };

  struct StateShape {  // what one array of a parameter's state must look like
    std::string slot;
    Dtype dtype;
    std::vector<std::int64_t> shape;
    bool operator==(const StateShape&) const = default;
  };

  static std::uint64_t next_version();
  std::vector<Parameter> without_repeats(std::vector<Parameter> parameters) const;
  void check_parameter(const Parameter& parameter, const Options& options) const;
  void check_overlap(const std::vector<Parameter>& added) const;
  // The arrays a parameter has once its state exists: slots in order, "slow", "master".
  std::vector<StateShape> state_shapes(const Record& record) const;
  static std::vector<StateShape> state_shapes(const Record& record, const Options& options);
  static std::shared_ptr<void>& array_of(Memory& memory, const Rule& rule, std::string_view slot);
  Memory allocate_state(const Record& record) const;
  void allocate_missing_state();
  void refresh_group_step(std::size_t group);
  void refresh_tensor_step(std::size_t parameter);
  Options changed_options(std::size_t group, const Overrides& overrides) const;
  // Throws unless `options` are valid for the group, of its rule, and ask for the state that
  // exists.
  void check_replacement(std::size_t group, const Options& options) const;
  void replace_options(std::size_t group, Options options);
  Memory read_state(const Record& record, const SafetensorsReader& reader) const;
  // The tensors of a state file; `host_copies` holds those that are not in host memory.
  std::vector<TensorBytes> saved_tensors(const std::vector<TensorProgress>& progress,
                                         std::vector<std::vector<std::byte>>& host_copies) const;
  std::map<std::string, std::string> saved_metadata(
      const std::vector<TensorProgress>& progress) const;
  double current_learning_rate(std::size_t group) const;
  void load(const SafetensorsReader& reader, std::string_view where);
  void restore(const SafetensorsReader& reader);
  std::string first_unknown_tensor(const SafetensorsReader& reader) const;
  StepRequest prepare_request(double loss_scale);
  OptimizerProgress read_progress() const;
  void write_weights(const Record& record, const void* weights, Dtype dtype);
  // How a rule's average lies between the parameter and one of its slots; none without an average.
  std::optional<Blend> average_of(const Record& record) const;
  void throw_non_finite(const OptimizerProgress& progress);

  std::shared_ptr<Backend> backend_;
  Options defaults_;
  std::vector<Group> groups_;
  std::vector<Record> parameters_;
  std::shared_ptr<void> progress_;  // OptimizerProgress
  double learning_rate_factor_ = 1;
  bool storage_moved_ = false;  // since memory was last checked for overlaps
  bool slow_weights_in_use_ = false;

  // What the backend is handed, kept up to date as things change.
  std::vector<GroupStep> group_steps_;
  std::vector<TensorStep> tensor_steps_;
  std::uint64_t version_ = 0;
};

}  // namespace sing
