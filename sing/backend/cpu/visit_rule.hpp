// Turns a rule and a parameter's type, known at run time, into template arguments.
#pragma once

#include <variant>

#include "sing/backend/backend.hpp"

namespace sing::cpu {

// Calls visit.template operator()<R, Real>(rule), where Real is the type of the parameter's state
// and arithmetic.
template <class Visit>
void visit_rule(const Rule& rule, Dtype parameter, Visit visit) {
  std::visit(
      [&]<class R>(const R& each) {
        if (state_dtype(parameter) == Dtype::kFloat64) {
          visit.template operator()<R, double>(each);
        } else {
          visit.template operator()<R, float>(each);
        }
      },
      rule);
}

}  // namespace sing::cpu
