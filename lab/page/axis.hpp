// A chart's axis: which numbers it shows, where, and its ticks.
#pragma once

#include <string>
#include <vector>

namespace sing::lab::page {

enum class Scale { kLinear, kLog };

struct Tick {
  double value;
  std::string text;
};

// The smallest and largest of the numbers shown to it, leaving out what a scale cannot place.
struct AxisRange {
  double low = 0;
  double high = 0;
  bool empty = true;

  void include(double value);
};

class Axis {
 public:
  // Numbers `range` from pixel `from` to pixel `to`. A range of one number is widened; an empty one
  // is 0 … 1. kLog falls back to kLinear where the range has no positive part.
  Axis(AxisRange range, Scale scale, double from, double to);

  Scale scale() const { return scale_; }
  double low() const { return low_; }
  double high() const { return high_; }
  double from() const { return from_; }
  double to() const { return to_; }

  // Not finite where the scale has no place for the value.
  double place(double value) const;

  // At round numbers: 1, 2 or 5 times a power of ten, some four to eight of them.
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
