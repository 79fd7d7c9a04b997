// Defines a chart's axis: the numbers it shows, their places, and its ticks.
#pragma once

#include <string>
#include <vector>

namespace sing::lab::page {

enum class Scale { kLinear, kLog };

struct Tick {
  double value;
  std::string text;
};

// The smallest and largest of the included numbers. Numbers that a scale cannot place are left out.
struct AxisRange {
  double low = 0;
  double high = 0;
  bool empty = true;

  void include(double value);
};

class Axis {
 public:
  // Maps the numbers of `range` to the pixels `from` … `to`. A range of one number is widened, and
  // an empty one becomes 0 … 1. kLog falls back to kLinear if the range has no positive part.
  Axis(AxisRange range, Scale scale, double from, double to);

  // Returns a pixel; not finite if the scale has no place for the value.
  double place(double value) const;

  // Ticks are at round numbers: 1, 2 or 5 times a power of ten, about four to eight of them.
  std::vector<Tick> ticks() const;

 private:
  std::vector<Tick> linear_ticks() const;
  std::vector<Tick> log_ticks() const;

  double low_;
  double high_;
  Scale scale_;
  double from_;
  double to_;
};

}  // namespace sing::lab::page
