// Makes each value from its decimal digits, so that it equals the number that its text is parsed
// to.
#include "lab/tune/ladder.hpp"

#include <cmath>

#include "sing/base/fields.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::tune {
namespace {

double decimal(int digit, int exponent) {
  return *parse_number<double>(fmt::format("{}e{}", digit, exponent));
}

}  // namespace

double rate_at(int place) {
  const bool odd = place % 2 != 0;
  return odd ? decimal(5, (place - 1) / 2) : decimal(1, place / 2);
}

double decay_at(int place) { return decimal(5, place); }

Places paper_rates(std::string_view optimizer) {
  return optimizer.starts_with("sing-") ? Places{-5, -2} : Places{-7, -4};
}

Ladder ladder_around(double middle, int per_decade) {
  return [=](int place) {
    const double value = middle * std::pow(10.0, static_cast<double>(place) / per_decade);
    return place == 0 ? middle : *parse_number<double>(fmt::format("{:.1e}", value));
  };
}

std::vector<double> values_of(const Ladder& ladder, Places places) {
  std::vector<double> values;
  for (int place = places.first; place <= places.last; ++place) {
    values.push_back(ladder(place));
  }
  return values;
}

}  // namespace sing::lab::tune
