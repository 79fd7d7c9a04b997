// Checkpoints: everything that the rest of a training depends on, in one safetensors file.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "adapters/torch/optimizer.hpp"
#include "lab/run/run_writer.hpp"

namespace sing::lab::loop {

// The checkpoint that a resumed run continues from, and the weights of the best evaluation.
inline constexpr const char* kLastCheckpoint = "last";
inline constexpr const char* kBestCheckpoint = "best";

// Where a training stands, beside weights, optimizer and random numbers. Data needs no more than
// the step.
struct TrainingState {
  std::int64_t step = 0;  // taken
  double seconds = 0;
  std::optional<double> best_accuracy;
  std::optional<double> last_accuracy;
  std::optional<double> last_loss;  // of the last evaluation
  // Loss since the last record, and the search for divergence.
  double window_loss = 0;
  std::int64_t window_steps = 0;
  std::optional<double> first_loss;
  std::int64_t steps_above_first = 0;
  run::RunFileSizes file_sizes;
};

// The tensors of `module` under their own names, those of the optimizer after "optimizer.", the
// generators' states after "random.". Replaces the file as a whole; throws FileError.
void save_checkpoint(const std::filesystem::path& path, const ::torch::nn::Module& module,
                     const sing::torch::Optimizer& optimizer, const TrainingState& state);

// Throws FileError or std::invalid_argument for a file that is damaged, foreign or of another
// model; the module may then be half changed.
TrainingState load_checkpoint(const std::filesystem::path& path, ::torch::nn::Module& module,
                              sing::torch::Optimizer& optimizer);

// The module's tensors by name, copied.
std::vector<sing::torch::NamedTensor> copy_weights(const ::torch::nn::Module& module);
// Weights alone.
void save_weights(const std::filesystem::path& path,
                  const std::vector<sing::torch::NamedTensor>& weights, std::int64_t step,
                  double accuracy);
// From either kind of file.
void load_weights(const std::filesystem::path& path, ::torch::nn::Module& module);

}  // namespace sing::lab::loop
