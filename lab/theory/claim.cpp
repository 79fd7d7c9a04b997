// Describes in words what a number must be.
#include "lab/theory/claim.hpp"

#include <algorithm>
#include <cmath>

#include "lab/page/html_text.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::theory {

std::string wanted_text(const Number& number) {
  const bool from_below = std::isfinite(number.low);
  const bool from_above = std::isfinite(number.high);
  if (from_below && from_above) {
    const double middle = number.low / 2 + number.high / 2;
    const double half = number.high / 2 - number.low / 2;
    return half == 0
               ? fmt::format("= {}", page::short_number(middle))
               : fmt::format("{} ± {}", page::short_number(middle), page::short_number(half, 2));
  }
  if (from_below) {
    return fmt::format("≥ {}", page::short_number(number.low));
  }
  return from_above ? fmt::format("≤ {}", page::short_number(number.high)) : std::string();
}

bool Evidence::holds() const {
  return !numbers.empty() && std::all_of(numbers.begin(), numbers.end(),
                                         [](const Number& each) { return each.holds(); });
}

}  // namespace sing::lab::theory
