// Reduces a long curve to a few points: the means of neighbors, and the ranges of their values.
#pragma once

#include <cstddef>
#include <vector>

namespace sing::lab::page {

struct CurvePoint {
  double x;
  double y;     // mean; a gap if not finite
  double low;   // smallest of the averaged values
  double high;  // largest
};

// Returns at most `most` points. A curve that is short enough is returned unchanged, with low =
// high = y. Values that are not finite are left out of a mean; a point without other values is a
// gap.
std::vector<CurvePoint> thin_curve(const std::vector<CurvePoint>& curve, std::size_t most);

inline CurvePoint curve_point(double x, double y) { return {x, y, y, y}; }

}  // namespace sing::lab::page
