// A long curve as few points: the mean of neighbours, and between which values they lay.
#pragma once

#include <cstddef>
#include <vector>

namespace sing::lab::page {

struct CurvePoint {
  double x;
  double y;     // mean; not finite: a gap
  double low;   // smallest of the values behind the mean
  double high;  // largest
};

// At most `most` points. A curve that is short enough comes back as it is, low = high = y. Values
// that are not finite are left out of a mean; where there are no others, the point is a gap.
std::vector<CurvePoint> thin_curve(const std::vector<CurvePoint>& curve, std::size_t most);

inline CurvePoint curve_point(double x, double y) { return {x, y, y, y}; }

}  // namespace sing::lab::page
