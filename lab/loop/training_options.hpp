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
  std::int64_t keep_weights = 0;
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
        field("seed", &T::seed, "seed of the initial weights and of the data", at_least(0)),
        field("epochs", &T::epochs, "passes over the training set", between(1, 1e9)),
        field("steps", &T::steps, "number of steps; 0: those of the epochs", between(0, 1e12)),
        field("batch", &T::batch, "examples per step, or what else the task counts",
              between(1, 1e7)),
        field("accumulate", &T::accumulate,
              "parts of a batch, whose gradients are computed one after the other and added up",
              between(1, 1e7)),
        field("precision", &T::precision,
              "precision of the matrix products: float32 or bf16 (autocast)"),
        field("warmup_fraction", &T::warmup_fraction,
              "share of the steps in which the learning rate warms up", between(0, 1)),
        field("evaluate_on", &T::evaluate_on,
              "examples that are evaluated: test: the test set; validation: examples held out from "
              "training, for choosing options"),
        field(
            "keep_weights", &T::keep_weights,
            "number of last evaluations whose weights are kept, for sing eval --checkpoint average",
            between(0, 1000)),
        field("evaluate_steps", &T::evaluate_steps, "steps between evaluations; 0: one epoch",
              between(0, 1e12)),
        field("log_steps", &T::log_steps, "steps between records", between(1, 1e12)),
        field("norm_steps", &T::norm_steps, "steps between records with gradient norms; 0: never",
              between(0, 1e12)),
        field("divergence_steps", &T::divergence_steps,
              "a loss that stays above its initial value for this many steps has diverged; 0: only "
              "one that is not finite",
              between(0, 1e12)),
        field("deterministic", &T::deterministic,
              "refuse operations whose results vary between runs"),
        field(
            "fused", &T::fused,
            "on a GPU in bf16, use fused layers, which read bf16 weights that the optimizer keeps"),
        field("graph", &T::graph,
              "on a GPU, replay the computation of the gradients as a CUDA graph"),
        field("autotune", &T::autotune,
              "on a GPU, time cuDNN's convolutions and use the fastest, which may vary between "
              "runs")};
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
        field("threads", &R::threads, "LibTorch's threads on the CPU; 0: LibTorch's default",
              between(0, 1024)),
        field("data_threads", &R::data_threads,
              "threads that make batches; 0: one, or all cores if the model is on a GPU",
              between(0, 1024)),
        field("checkpoint_steps", &R::checkpoint_steps,
              "steps between checkpoints; 0: --checkpoint-seconds decides", between(0, 1e12)),
        field("checkpoint_seconds", &R::checkpoint_seconds,
              "save a checkpoint after an evaluation if the last one is at least this many seconds "
              "old",
              between(0, 1e9))};
  }
};

}  // namespace sing::lab::loop
