// One optimization of rules with a softplus: which of its two forms applies is decided outside the
// loop over elements.
//
// Near zero softplus has a cheaper form (sing/rule/math.hpp), and a branch between the two forms
// would keep the loop from being vectorized. So an update asks is_near_zero() about kUpdateStep
// elements at a time and runs their loop under that answer; rules without a softplus pass through
// both functions unchanged.
#pragma once

#include <bit>
#include <type_traits>

#include "sing/backend/cpu/kernel/block.hpp"

namespace sing::cpu::SING_ISA {
namespace {

inline constexpr std::int64_t kUpdateStep = 128;  // elements that share an answer

// Returns whether the cheap form serves all of these elements. Compares bits: floats that are not
// negative have the order of their bits, and a loop that finds the largest integer vectorizes.
template <class R, class Real, class... SlotPointer>
SING_HOST_DEVICE bool is_near_zero(const typename R::template Constants<Real>& constants,
                                   const GradientBlock<Real>& block, Real mean, IndexRange elements,
                                   const SlotPointer*... slot) {
  if constexpr (std::is_same_v<Real, float> && kBoundsSoftplus<R>) {
    if (constants.softplus.beta == 0) {
      return false;
    }
    std::int32_t largest = 0;
    for (std::int64_t i = elements.begin; i < elements.end; ++i) {
      const float gradient = standardized(block.values[i], mean, block.factor);
      const auto bound = std::bit_cast<std::int32_t>(
          R::softplus_bound(constants, gradient, ElementState<R, float>{{slot[i]...}}));
      largest = bound > largest ? bound : largest;
    }
    return largest <= std::bit_cast<std::int32_t>(constants.softplus.near_zero_limit);
  } else {
    return false;
  }
}

// Runs the loop with the answers to "softplus?" and "near zero?" fixed. The calls look alike; in
// each of them the compiler drops the other cases.
template <class Constants, class Loop>
SING_HOST_DEVICE void for_known_softplus(const Constants& constants, bool is_near_zero, Loop loop) {
  if constexpr (requires { constants.softplus; }) {
    Constants known = constants;
    if (known.softplus.beta > 0 && is_near_zero) {
      known.softplus.is_near_zero = true;
      loop(known);
    } else if (known.softplus.beta > 0) {
      known.softplus.is_near_zero = false;
      loop(known);
    } else {
      loop(known);
    }
  } else {
    loop(constants);
  }
}

}  // namespace
}  // namespace sing::cpu::SING_ISA
