// Defines how a task turns the predictions of an evaluation into scores.
#pragma once

#include <ATen/core/Tensor.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace sing::lab::task {

// Tensors whose meaning the task defines, in host memory when made and on the device in training.
using Batch = std::vector<at::Tensor>;

// The results of an evaluation besides the loss.
struct Scores {
  // The score by which the best weights are chosen: 0 … 1, larger is better, named by
  // Task::score_name. Not a number if the task has none; then the lowest loss is the best.
  double accuracy = std::numeric_limits<double>::quiet_NaN();
  // Other scores by name. The name contains the unit: "exact match, %".
  std::vector<std::pair<std::string, double>> others;
  // Text for the report, such as translations beside their references; "" if there is none.
  std::string sample;
};

// Sees the batches of one evaluation in their order, in inference mode of the model.
class Evaluator {
 public:
  virtual ~Evaluator() = default;

  // `prediction` is what the model's forward pass returned for the batch.
  virtual void add(const at::Tensor& prediction, const Batch& batch) = 0;
  // Called once, after all batches, with their weighted mean loss.
  virtual Scores scores(double loss) = 0;
};

}  // namespace sing::lab::task
