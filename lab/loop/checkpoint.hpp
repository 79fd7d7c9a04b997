// Saves and loads checkpoints: everything that the rest of a training depends on, in one
// safetensors file.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adapters/torch/optimizer.hpp"
#include "lab/run/run_writer.hpp"

namespace sing::lab::loop {

// The checkpoint that a resumed run continues from, and the weights of the best evaluation.
inline constexpr const char* kLastCheckpoint = "last";
inline constexpr const char* kBestCheckpoint = "best";

// The state of a training, except for the weights, the optimizer and the random numbers. The
// position in the data follows from the step.
struct TrainingState {
  std::int64_t step = 0;  // steps taken
  double seconds = 0;
  std::optional<double> best_accuracy;
  std::optional<double> last_accuracy;
  std::optional<double> last_loss;  // the last evaluation's
  std::optional<double> best_loss;  // the best evaluation's
  std::vector<std::pair<std::string, double>> last_scores;
  // Loss since the last record, and the state of the divergence check.
  double window_loss = 0;
  std::int64_t window_steps = 0;
  std::optional<double> first_loss;
  std::int64_t steps_above_first = 0;
  run::RunFileSizes file_sizes;
};

// The tensors of `module` keep their names, the names of the optimizer's tensors begin with
// "optimizer.", and those of the generators' states with "random.". `optimizer_state` is from the
// optimizer's save_bytes(). Replaces the file atomically; throws FileError.
void save_checkpoint(const std::filesystem::path& path, const ::torch::nn::Module& module,
                     const std::string& optimizer_state, const TrainingState& state);

// Throws FileError or std::invalid_argument for a file that is damaged, in another format or from
// another model. The module may then be partly changed.
// The optimizer loads what `part` returns for the state in the file.
using PartOfState = std::function<std::string(const std::string& state)>;
TrainingState load_checkpoint(const std::filesystem::path& path, ::torch::nn::Module& module,
                              sing::torch::Optimizer& optimizer,
                              const PartOfState& part = std::identity());

// Returns copies of the module's tensors with their names.
std::vector<sing::torch::NamedTensor> copy_weights(const ::torch::nn::Module& module);
// Saves only the weights, with notes for the reader of the file.
void save_weights(const std::filesystem::path& path,
                  const std::vector<sing::torch::NamedTensor>& weights,
                  std::map<std::string, std::string> notes);
// Reads the weights from either kind of file.
void load_weights(const std::filesystem::path& path, ::torch::nn::Module& module);

}  // namespace sing::lab::loop
