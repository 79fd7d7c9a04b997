// What a task brings to the training loop: data, model, loss, metric, pictures. The loop knows no
// more of it than this.
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

// Tensors whose meaning is the task's own: in host memory as made, on the device as trained on.
using Batch = std::vector<at::Tensor>;

using data::Split;

// Examples first … first + count − 1 of an epoch of the split (epoch 0 alone for the test).
struct BatchRequest {
  Split split = Split::kTraining;
  std::int64_t epoch = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// Predictions from fused layers, on a GPU in bf16, for models that have them: the parameters that
// need copies, and the forward pass that reads these.
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
};

class Task {
 public:
  virtual ~Task() = default;

  // The task's own flags, bound to its options; and those options as they are.
  virtual void add_flags(CLI::App& command) = 0;
  virtual std::vector<OptionInfo> options() const = 0;

  // Once, after the flags are read and before anything below. Throws std::invalid_argument.
  virtual void prepare(const TaskSetting& setting) = 0;

  // What everyone who reads a result has to know of the data, said with it; "": nothing.
  virtual std::string notice() const { return {}; }

  // What tells the data from other data, in hexadecimal; "": the options alone decide it.
  virtual std::string data_digest() const { return {}; }

  virtual std::int64_t example_count(Split split) const = 0;  // of an epoch

  // A function of setting, options and request alone. Called by one thread at a time, not always
  // the same one and not that of the training.
  virtual Batch make_batch(const BatchRequest& request) = 0;
  // A batch as make_batch gave it, copied to the device unless it is there already, and made ready.
  // The same operations for every batch of a size: they are recorded and replayed.
  virtual Batch to_device(const Batch& batch) const = 0;

  // Weights on the CPU, from torch's generator.
  virtual TaskModel make_model() const = 0;
  // Mean over the batch's examples, a scalar with gradient.
  virtual at::Tensor loss(const at::Tensor& prediction, const Batch& batch) const = 0;
  // How many of the batch's examples are right: a scalar of type int64, on the device.
  virtual at::Tensor right_count(const at::Tensor& prediction, const Batch& batch) const = 0;
  // What write_picture draws, for who looks at it; "": it writes nothing.
  virtual std::string picture_legend() const { return {}; }
  // Predictions beside what was wanted. May write nothing.
  virtual void write_picture(const std::filesystem::path& path, const at::Tensor& prediction,
                             const Batch& batch) const = 0;
};

// A task as the program lists it.
struct TaskEntry {
  const char* name;
  const char* help;
  std::unique_ptr<Task> (*make)();
};

}  // namespace sing::lab::task
