// Computes the gradients of one batch directly, or on a GPU by replaying a graph that was recorded
// for the shapes of its tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "lab/loop/step_graph.hpp"
#include "lab/task/task.hpp"

namespace sing::lab::loop {

class GradientPass {
 public:
  // Computes the loss of a batch from its parts and leaves the gradients in the parameters.
  using Work = std::function<at::Tensor(const std::vector<task::Batch>& parts)>;

  // At most this many graphs are recorded, each for the shapes of a batch.
  static constexpr std::size_t kMostGraphs = 64;

  GradientPass(const at::Device& device, std::vector<at::Tensor> parameters, Work work,
               bool record);

  // Does not wait for the device. The loss and the gradients are valid until the next call.
  at::Tensor run(const std::vector<task::Batch>& parts);

  std::size_t graph_count() const { return graph_count_; }

 private:
  using Shapes = std::vector<std::int64_t>;  // sizes of all tensors of all parts

  // Batches of one shape share a recording. All but the number of runs is made when the graph is
  // recorded.
  struct Recording {
    int runs = 0;
    std::unique_ptr<StepGraph> graph;
    std::vector<task::Batch> inputs;  // on the device; the graph reads them
    at::Tensor loss;
    std::vector<at::Tensor> gradients;  // of all parameters, in memory that the graphs share
  };

  static Shapes shapes_of(const std::vector<task::Batch>& parts);
  static void copy_in(const std::vector<task::Batch>& parts, Recording& recording);
  void record(const std::vector<task::Batch>& parts, Recording& recording);

  at::Device device_;
  std::vector<at::Tensor> parameters_;
  Work work_;
  bool record_;
  std::map<Shapes, Recording> recordings_;
  std::size_t graph_count_ = 0;
  const StepGraph* first_graph_ = nullptr;
};

}  // namespace sing::lab::loop
