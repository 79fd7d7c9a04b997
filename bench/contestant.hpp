// A contestant, whose steps are timed, and the tensors that all contestants of a model start from.
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

// Hyper-parameters shared by all, so that all do the same work.
inline constexpr double kLearningRate = 5e-3;
inline constexpr double kBeta1 = 0.9;
inline constexpr double kBeta2 = 0.999;
inline constexpr double kEpsilon = 1e-8;
inline constexpr double kWeightDecay = 5e-2;
inline constexpr double kSoftplusBeta = 50;
inline constexpr int kLookaheadPeriod = 5;
inline constexpr double kLookaheadAlpha = 0.5;

// Where the contestants start. The gradients are read by all and written by none.
struct Problem {
  ModelShapes model;
  TensorVector initial;
  TensorVector gradients;
  TensorVector bfloat16_gradients;  // the same, rounded

  explicit Problem(ModelShapes shapes);
  // Draws new gradients, which depend only on the seed.
  void draw_gradients(std::uint64_t seed);
};

struct Contestant {
  std::string name;
  std::string title;
  // The least memory traffic of a step, in which each gradient is read once.
  double bytes_per_parameter = 0;
  int every = 1;  // takes part in every n-th round
  TensorVector parameters;
  std::function<void()> step;
  // Called before each step of the check, for work that timed steps leave out.
  std::function<void()> before_checked_step = {};
};

// Only the call of LibTorch's at::_fused_adamw_; its callers also advance a step counter per
// tensor.
Contestant make_torch_fused_adamw(const Problem& problem);

// The paper's SING-AdamW with LookAhead, operation by operation as in the authors' Python code.
Contestant make_unfused_sing(const Problem& problem);

// The contestants built from this library: SING-AdamW and plain AdamW, and with `all` each other
// host rule, policy and parameter type.
std::vector<Contestant> make_sing_contestants(const Problem& problem, int threads, bool all);

}  // namespace sing::bench
