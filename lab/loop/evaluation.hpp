// Computes the loss and accuracy of a model on the examples that evaluations use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>

#include "lab/loop/training_options.hpp"
#include "lab/task/task.hpp"

namespace sing::lab::loop {

struct Evaluation {
  double loss = 0;
  double accuracy = 0;  // 0 … 1
};

struct EvaluationSetting {
  at::Device device = at::kCPU;
  Precision precision = Precision::kFloat32;
  std::int64_t batch = 0;
  std::filesystem::path picture;  // empty: none
};

// Evaluates on the whole test set. `task_mutex` guards make_batch.
Evaluation evaluate(task::Task& task, task::TaskModel& model, const EvaluationSetting& setting,
                    std::mutex& task_mutex);

}  // namespace sing::lab::loop
