// From a rule and a parameter's type, known at run time, to the template arguments of a loop.
#pragma once

#include <variant>

#include "sing/backend/backend.hpp"

namespace sing::cpu {

// The type that a parameter's arithmetic is done in.
constexpr Dtype real_of(Dtype dtype) { return state_dtype(dtype); }

// Calls visit.template operator()<R, Real>(rule).
template <class Visit>
void visit_rule(const Rule& rule, Dtype parameter, Visit visit) {
  std::visit(
      [&]<class R>(const R& each) {
        if (real_of(parameter) == Dtype::kFloat64) {
          visit.template operator()<R, double>(each);
        } else {
          visit.template operator()<R, float>(each);
        }
      },
      rule);
}

}  // namespace sing::cpu
