// Joins equal numbers of neighboring points.
#include "lab/page/thin_curve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sing::lab::page {
namespace {

CurvePoint joined(const CurvePoint* begin, const CurvePoint* end) {
  double x = 0;
  double sum = 0;
  double finite = 0;
  CurvePoint result = curve_point(0, std::numeric_limits<double>::quiet_NaN());
  for (const CurvePoint* point = begin; point != end; ++point) {
    x += point->x;
    if (std::isfinite(point->y)) {
      sum += point->y;
      result.low = finite == 0 ? point->low : std::min(result.low, point->low);
      result.high = finite == 0 ? point->high : std::max(result.high, point->high);
      ++finite;
    }
  }
  result.x = x / static_cast<double>(end - begin);
  if (finite > 0) {
    result.y = sum / finite;
  }
  return result;
}

}  // namespace

std::vector<CurvePoint> thin_curve(const std::vector<CurvePoint>& curve, std::size_t most) {
  if (curve.size() <= most || most == 0) {
    return curve;
  }
  const std::size_t together = (curve.size() + most - 1) / most;
  std::vector<CurvePoint> thin;
  for (std::size_t begin = 0; begin < curve.size(); begin += together) {
    const std::size_t end = std::min(begin + together, curve.size());
    thin.push_back(joined(curve.data() + begin, curve.data() + end));
  }
  return thin;
}

}  // namespace sing::lab::page
