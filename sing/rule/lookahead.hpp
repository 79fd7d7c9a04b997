// LookAhead: every few steps the fast weights are drawn towards a slow copy (algorithm.md, eq. 8).
#pragma once

#include <cstdint>

#include "sing/rule/update_rule.hpp"

namespace sing {

struct Lookahead {
  std::int64_t period = 5;  // steps of the group from merge to merge
  double alpha = 0.5;       // share of the fast weights in a merge

  static constexpr auto fields() {
    return std::tuple{
        field("lookahead_period", &Lookahead::period, "steps from merge to merge", at_least(1)),
        field("lookahead_alpha", &Lookahead::alpha, "share of the fast weights in a merge",
              between(0, 1))};
  }

  template <class Real>
  SING_HOST_DEVICE static Real merge(Real alpha, Real fast, Real slow) {
    return alpha * fast + (Real(1) - alpha) * slow;
  }
};

}  // namespace sing
