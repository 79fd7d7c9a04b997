// Defines tasks whose accuracy is the share of examples that are right.
#pragma once

#include <memory>

#include "lab/task/task.hpp"

namespace sing::lab::task {

class CountingTask : public Task {
 public:
  // Number of examples of the batch that are right, an int64 scalar on the device.
  virtual at::Tensor right_count(const at::Tensor& prediction, const Batch& batch) const = 0;

  std::unique_ptr<Evaluator> make_evaluator(const TaskModel& model) const override;
};

}  // namespace sing::lab::task
