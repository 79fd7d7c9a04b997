// LookAhead: every few steps the fast weights move towards a slow copy (docs/algorithm.md, eq. 8).
#pragma once

#include <cstdint>

#include "sing/rule/update_rule.hpp"

namespace sing {

struct Lookahead {
  std::int64_t period = 5;  // steps of the group between merges
  double alpha = 0.5;       // weight of the fast weights in a merge

  static constexpr auto fields() {
    return std::tuple{
        field("lookahead_period", &Lookahead::period, "steps between merges", at_least(1)),
        field("lookahead_alpha", &Lookahead::alpha, "weight of the fast weights in a merge",
              between(0, 1))};
  }

  template <class Real>
  SING_HOST_DEVICE static Real merge(Real alpha, Real fast, Real slow) {
    return alpha * fast + (Real(1) - alpha) * slow;
  }
};

}  // namespace sing
