// Computes the loss and the scores of a model on the examples that evaluations use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lab/loop/training_options.hpp"
#include "lab/task/task.hpp"

namespace sing::lab::loop {

struct Evaluation {
  double loss = 0;
  double accuracy = 0;  // 0 … 1; see task::Scores
  std::vector<std::pair<std::string, double>> others;
};

struct EvaluationSetting {
  at::Device device = at::kCPU;
  Precision precision = Precision::kFloat32;
  std::int64_t batch = 0;
  std::filesystem::path picture;  // empty: none
  std::filesystem::path sample;   // file for the task's sample text; empty: none
};

// Evaluates on the whole test set. `task_mutex` guards make_batch.
Evaluation evaluate(task::Task& task, task::TaskModel& model, const EvaluationSetting& setting,
                    std::mutex& task_mutex);

}  // namespace sing::lab::loop
