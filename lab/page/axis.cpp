// Places numbers on an axis and finds round numbers for its ticks.
#include "lab/page/axis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lab/page/html_text.hpp"

namespace sing::lab::page {
namespace {

constexpr double kWantedTicks = 6;

// Returns 10^exponent. Divides for negative exponents, because pow is not exact there.
double power_of_ten(int exponent) {
  return exponent >= 0 ? std::pow(10.0, exponent) : 1 / std::pow(10.0, -exponent);
}

double round_step(double span) {
  const double rough = span / kWantedTicks;
  const double unit = power_of_ten(static_cast<int>(std::floor(std::log10(rough))));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (rough <= times * unit) {
      return times * unit;
    }
  }
  return 10 * unit;
}

}  // namespace

void AxisRange::include(double value) {
  if (!std::isfinite(value)) {
    return;
  }
  low = empty ? value : std::min(low, value);
  high = empty ? value : std::max(high, value);
  empty = false;
}

Axis::Axis(AxisRange range, Scale scale, double from, double to)
    : low_(range.empty ? 0 : range.low),
      high_(range.empty ? 1 : range.high),
      scale_(scale == Scale::kLog && low_ > 0 ? Scale::kLog : Scale::kLinear),
      from_(from),
      to_(to) {
  if (scale_ == Scale::kLog && high_ < low_ * 1.05) {
    low_ /= 2;
    high_ *= 2;
  } else if (scale_ == Scale::kLinear && !(high_ - low_ > 1e-9 * std::abs(high_))) {
    const double widening = high_ == 0 ? 1 : 0.5 * std::abs(high_);
    low_ -= widening;
    high_ += widening;
  }
}

double Axis::place(double value) const {
  double share = 0;
  if (scale_ == Scale::kLog) {
    share = value > 0 ? std::log(value / low_) / std::log(high_ / low_)
                      : std::numeric_limits<double>::quiet_NaN();
  } else {
    share = (value - low_) / (high_ - low_);
  }
  return from_ + share * (to_ - from_);
}

std::vector<Tick> Axis::ticks() const {
  return scale_ == Scale::kLog ? log_ticks() : linear_ticks();
}

std::vector<Tick> Axis::linear_ticks() const {
  const double step = round_step(high_ - low_);
  std::vector<Tick> ticks;
  for (double count = std::ceil(low_ / step - 1e-9); count * step <= high_ + 1e-9 * step; ++count) {
    ticks.push_back({count * step, short_number(count * step, 6)});
  }
  return ticks;
}

std::vector<Tick> Axis::log_ticks() const {
  const int first = static_cast<int>(std::floor(std::log10(low_)));
  const int last = static_cast<int>(std::ceil(std::log10(high_)));
  const double decades = std::log10(high_ / low_);
  const int stride = std::max(1, static_cast<int>(std::ceil(decades / 8)));
  std::vector<Tick> ticks;
  for (int exponent = first; exponent <= last; exponent += stride) {
    for (const double times : {1.0, 2.0, 5.0}) {
      const double value = times * power_of_ten(exponent);
      if ((times == 1 || decades < 3) && value >= low_ * (1 - 1e-9) &&
          value <= high_ * (1 + 1e-9)) {
        ticks.push_back({value, short_number(value, 3)});
      }
    }
  }
  // A range of less than a decade may contain too few of these ticks; equal steps are just as
  // readable there.
  return ticks.size() < 3 ? linear_ticks() : ticks;
}

}  // namespace sing::lab::page
