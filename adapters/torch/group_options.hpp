// The options of one parameter group, as torch's optimizers and schedulers see them.
#pragma once

#include <torch/optim/optimizer.h>

#include <optional>
#include <string>
#include <vector>

#include "sing/optim/options.hpp"

namespace sing::torch {

// The options of a torch::optim::OptimizerParamGroup: overrides of the optimizer's defaults, by
// name, and the learning rate, which schedulers read and write.
class GroupOptions final : public ::torch::optim::OptimizerCloneableOptions<GroupOptions> {
 public:
  // `names` are the names of the group's parameters; without them, a parameter is named by its
  // position.
  explicit GroupOptions(Overrides overrides = {}, std::vector<std::string> names = {});

  double get_lr() const override;
  void set_lr(double learning_rate) override;
  bool has_lr() const { return learning_rate_.has_value(); }

  const Overrides& overrides() const { return overrides_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  Overrides overrides_;
  std::vector<std::string> names_;
  std::optional<double> learning_rate_;
};

}  // namespace sing::torch
