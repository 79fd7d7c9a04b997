// Makes the contestants that the library is compared with: LibTorch's fused AdamW, and SING in ATen
// calls.
#include <cmath>
#include <utility>

#include "bench/contestant.hpp"

namespace sing::bench {
namespace {

TensorVector copies(const TensorVector& tensors) {
  TensorVector result;
  result.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) {
    result.push_back(tensor.clone());
  }
  return result;
}

TensorVector zeros_like(const TensorVector& tensors) {
  TensorVector result;
  result.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) {
    result.push_back(at::zeros_like(tensor));
  }
  return result;
}

struct UnfusedSing {
  TensorVector parameters;
  const TensorVector* gradients;
  TensorVector first_moments;
  TensorVector second_moments;
  TensorVector slow;
  int steps = 0;
  bool exact_norm = false;  // for the next step

  at::Tensor standardized(const at::Tensor& raw) const {
    at::Tensor gradient = raw;
    if (raw.dim() >= 2) {
      std::vector<std::int64_t> trailing;
      for (std::int64_t axis = 1; axis < raw.dim(); ++axis) {
        trailing.push_back(axis);
      }
      gradient = raw - raw.mean(trailing, true);
    }
    const at::Tensor norm =
        exact_norm ? gradient.to(at::kDouble).norm().to(at::kFloat) : gradient.norm();
    return gradient / (norm + kEpsilon);
  }

  void update(std::size_t i) {
    const at::Tensor gradient = standardized((*gradients)[i]);
    first_moments[i].mul_(kBeta1).add_(gradient, 1 - kBeta1);
    second_moments[i].mul_(kBeta2).addcmul_(gradient, gradient, 1 - kBeta2);
    if (parameters[i].dim() >= 2) {
      parameters[i].mul_(1 - kLearningRate * kWeightDecay);
    }
    const at::Tensor root = second_moments[i].sqrt() / std::sqrt(1 - std::pow(kBeta2, steps));
    const double step_size = kLearningRate / (1 - std::pow(kBeta1, steps));
    parameters[i].addcdiv_(first_moments[i], at::softplus(root, kSoftplusBeta), -step_size);
    if (steps % kLookaheadPeriod == 0) {
      parameters[i].mul_(kLookaheadAlpha).add_(slow[i], 1 - kLookaheadAlpha);
      slow[i].copy_(parameters[i]);
    }
  }

  void step() {
    ++steps;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      update(i);
    }
    exact_norm = false;
  }
};

}  // namespace

Contestant make_torch_fused_adamw(const Problem& problem) {
  const TensorVector parameters = copies(problem.initial);
  TensorVector counters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    counters.push_back(at::zeros({}, at::kFloat));
  }
  return {.name = "torch_fused_adamw",
          .title = "torch fused AdamW",
          .bytes_per_parameter = 28,
          .parameters = parameters,
          .step =
              [parameters, counters, gradients = &problem.gradients,
               first_moments = zeros_like(parameters), second_moments = zeros_like(parameters)] {
                at::_fused_adamw_(parameters, *gradients, first_moments, second_moments, {},
                                  counters, kLearningRate, kBeta1, kBeta2, kWeightDecay, kEpsilon,
                                  /*amsgrad=*/false,
                                  /*maximize=*/false);
              },
          .before_checked_step = [counters] { at::_foreach_add_(counters, 1); }};
}

Contestant make_unfused_sing(const Problem& problem) {
  auto sing =
      std::make_shared<UnfusedSing>(UnfusedSing{.parameters = copies(problem.initial),
                                                .gradients = &problem.gradients,
                                                .first_moments = zeros_like(problem.initial),
                                                .second_moments = zeros_like(problem.initial),
                                                .slow = copies(problem.initial)});
  return {.name = "unfused_sing_adamw",
          .title = "SING-AdamW + LookAhead, unfused ATen calls",
          .bytes_per_parameter = 29.6,
          .every = 5,
          .parameters = sing->parameters,
          .step = [sing] { sing->step(); },
          // LibTorch sums the norm of floats in float: 0.3 % too small for 39 million elements.
          .before_checked_step = [sing] { sing->exact_norm = true; }};
}

}  // namespace sing::bench
