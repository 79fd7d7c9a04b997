// The optimizer as LibTorch's users know optimizers: a torch::optim::Optimizer.
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

struct ParameterGroup {
  Parameters parameters;
  Overrides overrides = {};
};

// Tensors are viewed, never copied; state is LibTorch's memory. Parameters may be on several
// devices and dense in any order of their axes. All errors are thrown before anything changes and
// name the parameter.
class Optimizer final : public ::torch::optim::Optimizer {
 public:
  explicit Optimizer(const Parameters& parameters, Options defaults = {});
  explicit Optimizer(const std::vector<ParameterGroup>& groups, Options defaults = {});

  // Options that `overrides` leaves out are the optimizer's defaults. Returns the group's index.
  std::size_t add_group(const Parameters& parameters, const Overrides& overrides = {});
  // The same in torch's words: the group's options are GroupOptions, or none.
  void add_param_group(const ::torch::optim::OptimizerParamGroup& group);

  // Parameters without a gradient sit the step out. A closure is called first, with gradients on.
  at::Tensor step(LossClosure closure = nullptr) override;
  // For gradients of a loss that was multiplied by `loss_scale`.
  void step_scaled(double loss_scale);
  // CUDA graphs: once before a step is captured, and after each change of options between replays.
  void upload(double loss_scale = 1);

  const Options& options(std::size_t group = 0) const;
  // Any option of a group, now; those that decide which state exists cannot change.
  void set_option(std::size_t group, std::string_view name, const Value& value);
  // Of all groups; what sing::Schedule gives, on top of what torch's schedulers set.
  void set_learning_rate_factor(double factor);

  // A 16-bit copy of a float32 parameter, filled now and written by each later step: what matrix
  // products in that type read, without a cast of their own. A second call gives the same tensor.
  at::Tensor keep_copy(std::string_view name, at::ScalarType type = at::kBFloat16);

  std::vector<std::string> parameter_names() const;
  // A parameter's arrays by slot name, as they are now; empty before its first update. load()
  // replaces them.
  std::map<std::string, at::Tensor> state_of(std::string_view name) const;
  std::int64_t steps_of(std::string_view name) const;
  // By name, of the last step's gradients, loss scale removed.
  std::vector<std::pair<std::string, double>> gradient_norms() const;
  // As sing::Optimizer::status(), over all devices; `first_non_finite` counts parameter_names().
  OptimizerProgress status();

  // Unlike that of any other optimizer, and another one after each load.
  std::uint64_t state_number() const { return state_number_; }

  // An estimate of the Hessian's diagonal for the next steps, of the parameter's shape, for rules
  // that take it; undefined: the gradient takes its place.
  void set_curvature(std::string_view name, const at::Tensor& curvature);

  // LookAhead's slow weights, or the average that a rule keeps, in place of the parameters, and
  // exactly back. No step in between.
  void use_slow_weights();
  void use_fast_weights();

  // torch::save and torch::load: options, counters and state, exactly.
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
    void* data;            // where it was at the last step
    at::Tensor copy = {};  // of lower precision, or undefined
    at::Tensor curvature = {};
  };

  // The group's tensors, each once and named; throws for what is no parameter of a new group.
  std::vector<NamedTensor> without_repeats(const Parameters& parameters) const;
  void register_group(const Parameters& parameters, const Overrides& overrides);
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
  std::vector<std::vector<at::Tensor>> listed_;  // by group taken up, repeats included
};

}  // namespace sing::torch
