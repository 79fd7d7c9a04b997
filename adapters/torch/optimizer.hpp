// Defines the optimizer as a torch::optim::Optimizer.
#pragma once

#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/tensor/multi_device_optimizer.hpp"
#include "adapters/torch/group_options.hpp"
#include "adapters/torch/parameters.hpp"
#include "adapters/torch/tensor_bridge.hpp"

namespace sing::torch {

// Parameters that are parts of tensors which several processes hold together, by name.
using Shards = std::map<std::string, Shard>;

struct ParameterGroup {
  Parameters parameters;
  Overrides overrides = {};
  Shards shards = {};
};

// Updates the parameters in place; state on CUDA devices is in LibTorch's memory. Parameters may be
// on several devices. They must be dense, with their axes in any order in memory. All errors are
// thrown before anything changes and name the parameter.
class Optimizer final : public ::torch::optim::Optimizer {
 public:
  explicit Optimizer(const Parameters& parameters, Options defaults = {});
  explicit Optimizer(const std::vector<ParameterGroup>& groups, Options defaults = {});

  // Options that `overrides` leaves out are the optimizer's defaults. Returns the group's index.
  std::size_t add_group(const Parameters& parameters, const Overrides& overrides = {},
                        const Shards& shards = {});
  // The same with torch's types: the group's options are GroupOptions, or it has none.
  void add_param_group(const ::torch::optim::OptimizerParamGroup& group);

  // Skips parameters without a gradient. A closure is called first, with gradients enabled.
  at::Tensor step(LossClosure closure = nullptr) override;
  // Takes a step with gradients of a loss that was multiplied by `loss_scale`.
  void step_scaled(double loss_scale);
  // For CUDA graphs: call it once before a step is captured, and after each change of options
  // between replays.
  void upload(double loss_scale = 1);

  // The function that adds up the sums of shards, which a step with a shard needs; by MPI it is
  // sing::mpi::sum_over().
  void set_sum_shards(const SumShards& sum_shards) { optimizer_.set_sum_shards(sum_shards); }
  // Parameters on a CUDA device need this function instead; by NCCL it is sing::nccl::sum_over().
  void set_sum_shards_on_device(const SumShardsOnDevice& sum_shards) {
    optimizer_.set_sum_shards_on_device(sum_shards);
  }
  // The function that exchanges parts of matrices, which Muon needs for shards; by MPI it is
  // sing::mpi::exchange_over().
  void set_exchange_parts(const ExchangeParts& exchange_parts) {
    optimizer_.set_exchange_parts(exchange_parts);
  }

  const Options& options(std::size_t group = 0) const;
  // Sets an option of a group. Options that decide which state exists cannot change.
  void set_option(std::size_t group, std::string_view name, const Value& value);
  // A factor of every group's learning rate, as sing::Schedule gives it. It multiplies the rates
  // that torch's schedulers set.
  void set_learning_rate_factor(double factor);

  // Returns a 16-bit copy of a float32 parameter that each later step writes, so that matrix
  // products in that type need no cast. A second call returns the same tensor.
  at::Tensor keep_copy(std::string_view name, at::ScalarType type = at::kBFloat16);

  std::vector<std::string> parameter_names() const;
  // A parameter's current arrays by slot name; empty before its first update. load() replaces the
  // arrays.
  std::map<std::string, at::Tensor> state_of(std::string_view name) const;
  std::int64_t steps_of(std::string_view name) const;
  // Norms of the last step's gradients by parameter name, loss scale removed.
  std::vector<std::pair<std::string, double>> gradient_norms() const;
  // Merges sing::Optimizer::status() of all devices; `first_non_finite` counts in the order of
  // parameter_names().
  OptimizerProgress status();

  // A number that differs from that of any other optimizer and changes with each load.
  std::uint64_t state_number() const { return state_number_; }

  // An estimate of the Hessian's diagonal for the next steps, of the parameter's shape, for rules
  // that take it. If it is undefined, the gradient takes its place.
  void set_curvature(std::string_view name, const at::Tensor& curvature);

  // Replaces the parameters by LookAhead's slow weights, or by the average that a rule keeps, until
  // use_fast_weights() restores them exactly. No step may be taken in between.
  void use_slow_weights();
  void use_fast_weights();

  // torch::save and torch::load call these for the exact options, counters and state.
  void save(::torch::serialize::OutputArchive& archive) const override;
  void load(::torch::serialize::InputArchive& archive) override;
  // State files (docs/state_files.md), the same whatever the devices and memory formats.
  void save(const std::filesystem::path& path) const;
  void load(const std::filesystem::path& path);
  std::string save_bytes() const;
  void load_bytes(std::string_view bytes);

 private:
  struct Entry {  // one parameter; the library numbers them in the same order
    at::Tensor tensor;
    std::size_t group;
    TensorFacts facts;
    void* data;  // where it was at the last step
    bool is_shard;
    at::Tensor copy = {};  // in lower precision, or undefined
    at::Tensor curvature = {};
  };

  // Returns the tensors of a new group, each once and with a name. Throws for a tensor that cannot
  // be a parameter of it.
  std::vector<NamedTensor> without_repeats(const Parameters& parameters) const;
  void register_group(const Parameters& parameters, const Overrides& overrides,
                      const Shards& shards);
  void take_up_groups();
  GroupOptions& group_options(std::size_t group) const;
  double learning_rate(std::size_t group) const;
  void adopt_learning_rates() const;
  // Hands gradients and moved storages to the library, after checking all of them. The tensors that
  // it returns must live until the step has been started.
  std::vector<at::Tensor> hand_over();
  at::Tensor usable_gradient(std::size_t parameter) const;
  at::Tensor usable_curvature(const Entry& entry, const at::Tensor& gradient) const;
  void bump_versions(bool only_with_gradient);
  void check_in_place() const;
  void prepare_save() const;
  void after_load();

  static std::uint64_t next_state_number();

  std::uint64_t state_number_ = next_state_number();
  mutable MultiDeviceOptimizer
      optimizer_;  // learning rates are adopted from the groups when needed
  std::vector<Entry> entries_;
  std::vector<std::vector<at::Tensor>> listed_;  // each group as it was added, repeats included
};

}  // namespace sing::torch
