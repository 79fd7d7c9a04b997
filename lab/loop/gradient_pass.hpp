// Computes the gradients of one batch directly, or on a GPU by replaying a graph that was recorded
// once.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "lab/loop/step_graph.hpp"
#include "lab/task/task.hpp"

namespace sing::lab::loop {

class GradientPass {
 public:
  // Computes the loss of a batch from its parts and leaves the gradients in the parameters.
  using Work = std::function<at::Tensor(const std::vector<task::Batch>& parts)>;

  GradientPass(const at::Device& device, Work work, bool record);

  // Does not wait for the device. The loss is valid until the next call. Parts with other shapes
  // are recorded again.
  at::Tensor run(const std::vector<task::Batch>& parts);

 private:
  void copy_in(const std::vector<task::Batch>& parts);

  at::Device device_;
  Work work_;
  bool record_;
  std::vector<task::Batch> inputs_;  // on the device; the graph reads them
  std::unique_ptr<StepGraph> graph_;
  at::Tensor loss_;
  int runs_ = 0;
};

}  // namespace sing::lab::loop
