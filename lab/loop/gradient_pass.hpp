// Gradients of one batch: computed as it comes, or on a GPU recorded once as a graph and replayed.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "lab/loop/step_graph.hpp"
#include "lab/task/task.hpp"

namespace sing::lab::loop {

class GradientPass {
 public:
  // From the parts of a batch to its loss, leaving the gradients in the parameters.
  using Work = std::function<at::Tensor(const std::vector<task::Batch>& parts)>;

  GradientPass(const at::Device& device, Work work, bool record);

  // Waits for nothing. The loss holds until the next call; parts of other shapes are recorded anew.
  at::Tensor run(const std::vector<task::Batch>& parts);

 private:
  void copy_in(const std::vector<task::Batch>& parts);

  at::Device device_;
  Work work_;
  bool record_;
  std::vector<task::Batch> inputs_;  // on the device, read by the graph
  std::unique_ptr<StepGraph> graph_;
  at::Tensor loss_;
  int runs_ = 0;
};

}  // namespace sing::lab::loop
