// Defines the options of a training that do not depend on the task.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "lab/data/split.hpp"
#include "sing/base/fields.hpp"

namespace sing::lab::loop {

enum class Precision : std::int32_t { kFloat32, kBFloat16 };

constexpr auto enum_names(Precision) {
  return std::to_array<EnumName<Precision>>(
      {{Precision::kFloat32, "float32"}, {Precision::kBFloat16, "bf16"}});
}

struct TrainingOptions {
  std::int64_t seed = 0;
  std::int64_t epochs = 100;
  std::int64_t steps = 0;
  std::int64_t batch = 512;
  std::int64_t accumulate = 1;
  Precision precision = Precision::kFloat32;
  double warmup_fraction = 0.05;
  data::EvaluationSet evaluate_on = data::EvaluationSet::kTest;
  std::int64_t evaluate_steps = 0;
  std::int64_t log_steps = 10;
  std::int64_t norm_steps = 100;
  std::int64_t divergence_steps = 500;
  bool deterministic = false;
  bool fused = true;
  bool graph = true;
  bool autotune = false;

  static constexpr auto fields() {
    using T = TrainingOptions;
    return std::tuple{
        field("seed", &T::seed, "of the first weights and of the data", at_least(0)),
        field("epochs", &T::epochs, "passes over the training set", between(1, 1e9)),
        field("steps", &T::steps, "steps instead of epochs; 0: as epochs say", between(0, 1e12)),
        field("batch", &T::batch, "examples a step, or what else the task counts", between(1, 1e7)),
        field("accumulate", &T::accumulate,
              "parts of a batch that go through the model one after the other", between(1, 1e7)),
        field("precision", &T::precision, "of the matrix products: float32 or bf16 (autocast)"),
        field("warmup_fraction", &T::warmup_fraction,
              "share of the steps in which the learning rate rises", between(0, 1)),
        field(
            "evaluate_on", &T::evaluate_on,
            "what is evaluated: test, the test set; validation, examples that are neither trained "
            "on nor in the test set, to choose options by"),
        field("evaluate_steps", &T::evaluate_steps,
              "steps from evaluation to evaluation; 0: an epoch", between(0, 1e12)),
        field("log_steps", &T::log_steps, "steps from record to record", between(1, 1e12)),
        field("norm_steps", &T::norm_steps,
              "steps from one record with gradient norms to the next; 0: never", between(0, 1e12)),
        field("divergence_steps", &T::divergence_steps,
              "diverged is a loss above its start for this many steps; 0: only one not finite",
              between(0, 1e12)),
        field("deterministic", &T::deterministic, "refuse operations that vary from run to run"),
        field("fused", &T::fused,
              "on a GPU in bf16, fused layers that read bf16 weights kept by the optimizer"),
        field("graph", &T::graph, "on a GPU, replay the gradients' computation as a CUDA graph"),
        field("autotune", &T::autotune,
              "on a GPU, time cuDNN's convolutions and take the fastest, which may vary from run "
              "to run")};
  }
};

// The options that may change when a run is resumed.
struct ResourceOptions {
  std::int64_t threads = 0;
  std::int64_t data_threads = 0;
  std::int64_t checkpoint_steps = 0;
  double checkpoint_seconds = 60;

  static constexpr auto fields() {
    using R = ResourceOptions;
    return std::tuple{
        field("threads", &R::threads, "of LibTorch on the CPU; 0: its own choice",
              between(0, 1024)),
        field("data_threads", &R::data_threads,
              "that make batches; 0: 1, or all cores beside a GPU", between(0, 1024)),
        field("checkpoint_steps", &R::checkpoint_steps,
              "steps from checkpoint to checkpoint; 0: as the seconds say", between(0, 1e12)),
        field("checkpoint_seconds", &R::checkpoint_seconds,
              "after an evaluation, seconds since the last checkpoint that call for one",
              between(0, 1e9))};
  }
};

}  // namespace sing::lab::loop
