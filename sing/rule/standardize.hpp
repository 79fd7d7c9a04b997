// Centralize and normalize: the options, and the scale that a tensor's sums give
// (docs/algorithm.md, eq. 1 to 3).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "sing/base/dtype.hpp"
#include "sing/rule/update_rule.hpp"

namespace sing {

enum class Normalize : std::int32_t { kOff, kUnitNorm, kSizeCalibrated };

constexpr auto enum_names(Normalize) {
  return std::to_array<EnumName<Normalize>>({{Normalize::kOff, "off"},
                                             {Normalize::kUnitNorm, "unit_norm"},
                                             {Normalize::kSizeCalibrated, "size_calibrated"}});
}

struct Standardize {
  bool centralize = true;
  std::int64_t centralize_axis = 0;
  Normalize normalize = Normalize::kUnitNorm;
  double norm_epsilon = 1e-8;
  double reference_size = 589824;

  static constexpr auto fields() {
    return std::tuple{
        field("centralize", &Standardize::centralize,
              "subtract each row's mean from tensors of rank 2 and more"),
        field("centralize_axis", &Standardize::centralize_axis,
              "the axis whose entries are rows; 0 is the paper's", at_least(0)),
        field("normalize", &Standardize::normalize,
              "norm given to each tensor's gradient: off, 1, or sqrt(size / reference_size)"),
        field("norm_epsilon", &Standardize::norm_epsilon, "added to the norm", at_least(0)),
        field("reference_size", &Standardize::reference_size,
              "size of a tensor whose calibrated norm is 1", at_least(1))};
  }

  // Whether a tensor of this rank loses its row means.
  SING_HOST_DEVICE bool centralizes(std::int64_t rank) const { return centralize && rank >= 2; }
};

// What the measure pass finds over a whole tensor. A float32 sum that does not fit float32 counts
// as non-finite, so that every backend agrees on which gradients are refused.
struct GradientSums {
  double squares = 0;          // Σ g²
  double centred_squares = 0;  // Σ (g − row mean)²; equal to squares without centralization
};

// What the apply pass multiplies the centred gradient by.
struct GradientScale {
  double factor;
  double gradient_norm;      // of the raw gradient, loss scale removed
  double standardized_norm;  // of what the rule sees
  bool finite;
};

// ε of the type sums are accumulated in: float for all parameters but float64.
SING_HOST_DEVICE double accumulation_epsilon(Dtype parameter) {
  return parameter == Dtype::kFloat64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
}

SING_HOST_DEVICE bool sum_fits(double sum, Dtype parameter) {
  return parameter == Dtype::kFloat64 ? sum <= 1.7976931348623157e308
                                      : sum <= 3.4028234663852886e38;
}

// Equation 3, with the guard: what centring leaves of a row-constant gradient is rounding noise,
// and noise must not be blown up to the target norm; nor can a zero gradient be.
SING_HOST_DEVICE GradientScale gradient_scale(const Standardize& options, const GradientSums& sums,
                                              std::int64_t size, Dtype parameter,
                                              double loss_scale) {
  const double norm = ::sqrt(sums.squares);
  const double centred_norm = ::sqrt(sums.centred_squares);
  GradientScale scale{.factor = 1 / loss_scale,
                      .gradient_norm = norm / loss_scale,
                      .standardized_norm = 0,
                      .finite = sum_fits(sums.squares, parameter)};
  if (options.normalize != Normalize::kOff) {
    const double target = options.normalize == Normalize::kSizeCalibrated
                              ? ::sqrt(static_cast<double>(size) / options.reference_size)
                              : 1.0;
    scale.factor = target / (centred_norm + options.norm_epsilon * loss_scale);
  }
  // Sums that are infinite are not less than one another.
  const bool only_noise = sums.centred_squares < sums.squares &&
                          centred_norm <= 8 * accumulation_epsilon(parameter) * norm;
  if (only_noise || scale.factor > 1.7976931348623157e308) {
    scale.factor = 0;
  }
  scale.standardized_norm = scale.factor * centred_norm;
  return scale;
}

// What gradients are multiplied by so that all of them together are no longer than the limit.
SING_HOST_DEVICE double clip_factor(double limit, double total_norm) {
  return total_norm > limit ? limit / total_norm : 1.0;
}

template <class Real>
SING_HOST_DEVICE Real standardized(Real gradient, Real row_mean, Real factor) {
  return (gradient - row_mean) * factor;
}

}  // namespace sing
