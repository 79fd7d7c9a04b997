// Defines a contestant, whose steps are timed, and the tensors that all contestants of a model
// start from.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/model_shapes.hpp"

namespace sing::bench {

using TensorVector = std::vector<at::Tensor>;

// All contestants share these hyperparameters, so that all do the same work.
inline constexpr double kLearningRate = 5e-3;
inline constexpr double kBeta1 = 0.9;
inline constexpr double kBeta2 = 0.999;
inline constexpr double kEpsilon = 1e-8;
inline constexpr double kWeightDecay = 5e-2;
inline constexpr double kSoftplusBeta = 50;
inline constexpr int kLookaheadPeriod = 5;
inline constexpr double kLookaheadAlpha = 0.5;

// The tensors that the contestants start from. All contestants read the gradients; none writes
// them.
struct Problem {
  ModelShapes model;
  TensorVector initial;
  TensorVector gradients;
  TensorVector bfloat16_gradients;  // the same gradients, rounded

  explicit Problem(ModelShapes shapes);
  // Draws new gradients, which depend only on the seed.
  void draw_gradients(std::uint64_t seed);
};

struct Contestant {
  std::string name;
  std::string title;
  // The minimum memory traffic of a step, in which each gradient is read once.
  double bytes_per_parameter = 0;
  int every = 1;  // takes part in every n-th round
  TensorVector parameters;
  std::function<void()> step;
  // Called before each step of the check, for work that timed steps leave out.
  std::function<void()> before_checked_step = {};
};

// Calls only LibTorch's at::_fused_adamw_. In LibTorch, its callers also advance a step counter per
// tensor.
Contestant make_torch_fused_adamw(const Problem& problem);

// Runs the paper's SING-AdamW with LookAhead, operation by operation as in the authors' Python
// code.
Contestant make_unfused_sing(const Problem& problem);

// Returns the contestants built from this library: SING-AdamW and plain AdamW, and with `all` also
// every other host rule, policy and parameter type.
std::vector<Contestant> make_sing_contestants(const Problem& problem, int threads, bool all);

}  // namespace sing::bench
