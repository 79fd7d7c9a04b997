// Defines the interface between a task and the training loop: data, model, loss, metric, pictures.
#pragma once

#include <torch/nn/module.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lab/data/split.hpp"
#include "lab/model/weight_copies.hpp"
#include "sing/optim/options.hpp"

namespace sing::lab::task {

// Tensors whose meaning the task defines, in host memory when made and on the device in training.
using Batch = std::vector<at::Tensor>;

using data::Split;

// Examples first … first + count − 1 of an epoch of the split; tests only use epoch 0.
struct BatchRequest {
  Split split = Split::kTraining;
  std::int64_t epoch = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// Predictions from fused layers, in bf16 on a GPU, for models that support them: the parameters
// that need copies, and the forward pass that reads the copies.
struct FusedModel {
  std::vector<at::Tensor> copied;
  std::function<at::Tensor(const Batch&, const model::WeightCopies&)> forward;
};

struct TaskModel {
  std::shared_ptr<::torch::nn::Module> module;
  std::function<at::Tensor(const Batch&)> forward;  // predictions
  std::optional<FusedModel> fused = std::nullopt;
};

struct TaskSetting {
  std::uint64_t seed = 0;
  at::Device device = at::kCPU;
  int data_threads = 1;
  data::EvaluationSet evaluate_on = data::EvaluationSet::kTest;
};

class Task {
 public:
  virtual ~Task() = default;

  // The task's flags, bound to its options, and the current values of those options.
  virtual void add_flags(CLI::App& command) = 0;
  virtual std::vector<OptionInfo> options() const = 0;

  // Called once, after the flags are read and before the rest. Throws std::invalid_argument.
  virtual void prepare(const TaskSetting& setting) = 0;

  // A notice about the data that every report of a result must contain; "" if there is none.
  virtual std::string notice() const { return {}; }

  // Identifies the data, in hexadecimal; "" if the options alone determine it.
  virtual std::string data_digest() const { return {}; }

  virtual std::int64_t example_count(Split split) const = 0;  // per epoch

  // Depends only on setting, options and request. Called by one thread at a time, which may change
  // and is not the training thread.
  virtual Batch make_batch(const BatchRequest& request) = 0;
  // Copies a batch of make_batch to the device, unless it is already there, and prepares it. The
  // operations must be the same for all batches of one size, as they are recorded and replayed.
  virtual Batch to_device(const Batch& batch) const = 0;

  // The weights are on the CPU, initialized from torch's generator.
  virtual TaskModel make_model() const = 0;
  // Mean over the examples of the batch, a scalar with gradient.
  virtual at::Tensor loss(const at::Tensor& prediction, const Batch& batch) const = 0;
  // Number of examples of the batch that are right, an int64 scalar on the device.
  virtual at::Tensor right_count(const at::Tensor& prediction, const Batch& batch) const = 0;
  // Caption for the picture written by write_picture; "" if it writes none.
  virtual std::string picture_legend() const { return {}; }
  // Draws predictions next to their targets. May write nothing.
  virtual void write_picture(const std::filesystem::path& path, const at::Tensor& prediction,
                             const Batch& batch) const = 0;
};

// An entry in the program's list of tasks.
struct TaskEntry {
  const char* name;
  const char* help;
  std::unique_ptr<Task> (*make)();
};

}  // namespace sing::lab::task
