// Defines the interface between a task and the training loop: data, model, loss, scores, pictures.
#pragma once

#include <torch/nn/module.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lab/data/split.hpp"
#include "lab/model/weight_copies.hpp"
#include "lab/task/evaluator.hpp"
#include "sing/optim/options.hpp"

namespace sing::lab::task {

using data::Split;

// Asks for one batch of an epoch of the split; tests only use epoch 0. A task whose batches are
// equal numbers of examples takes the examples first … first + count − 1. A task with a batch_count
// of its own takes index and size instead.
struct BatchRequest {
  Split split = Split::kTraining;
  std::int64_t epoch = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t index = 0;  // number of the batch in its epoch
  std::int64_t size = 0;   // examples per batch, as batch_count got it
};

// Returns the request for batch number `index`.
inline BatchRequest batch_request(Split split, std::int64_t epoch, std::int64_t index,
                                  std::int64_t size, std::int64_t examples) {
  const std::int64_t first = index * size;
  return {.split = split,
          .epoch = epoch,
          .first = first,
          .count = std::clamp<std::int64_t>(examples - first, 0, size),
          .index = index,
          .size = size};
}

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
  bool bf16 = false;      // matrix products under autocast, in evaluations too
  bool complete = false;  // evaluations may take long: that of `sing eval`
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
  // Number of batches per epoch, for --batch (or its share, if a step takes several parts). The
  // default leaves out the last training examples that do not fill a batch.
  virtual std::int64_t batch_count(Split split, std::int64_t size) const {
    const std::int64_t examples = example_count(split);
    return split == Split::kTraining ? examples / size : (examples + size - 1) / size;
  }

  // The unit of the speed, and the number of such units in a batch of make_batch. The default
  // counts the rows of its first tensor.
  virtual std::string unit() const { return "images"; }
  virtual std::int64_t unit_count(const Batch& made) const { return made.front().size(0); }

  // Depends only on setting, options and request. Called by one thread at a time, which may change
  // and is not the training thread.
  virtual Batch make_batch(const BatchRequest& request) = 0;
  // Copies a batch of make_batch to the device, unless it is already there, and prepares it. The
  // operations must be the same for all batches of one size, as they are recorded and replayed.
  virtual Batch to_device(const Batch& batch) const = 0;

  // The weights are on the CPU, initialized from torch's generator.
  virtual TaskModel make_model() const = 0;
  // Mean over the batch, a scalar with gradient.
  virtual at::Tensor loss(const at::Tensor& prediction, const Batch& batch) const = 0;
  // Returns the weight of a batch of make_batch in the mean loss of an evaluation or of a step of
  // several parts, such as its number of tokens: a scalar on the batch's device. An undefined
  // tensor stands for its number of examples.
  virtual at::Tensor weight(const Batch& /*made*/) const { return {}; }

  // Name of Scores::accuracy.
  virtual std::string score_name() const { return "accuracy"; }
  // Made for each evaluation. The evaluator may run the model itself, for example to translate; the
  // model outlives it.
  virtual std::unique_ptr<Evaluator> make_evaluator(const TaskModel& model) const = 0;

  // Caption for the picture or the sample text of an evaluation; "" if there is none.
  virtual std::string picture_legend() const { return {}; }
  // Draws predictions of the first batch next to their targets. May write nothing.
  virtual void write_picture(const std::filesystem::path& /*path*/,
                             const at::Tensor& /*prediction*/, const Batch& /*batch*/) const {}
};

// An entry in the program's list of tasks.
struct TaskEntry {
  const char* name;
  const char* help;
  std::unique_ptr<Task> (*make)();
  const char* small_recipe = "";  // file of options for a training of a minute or so on a CPU
};

}  // namespace sing::lab::task
