// Centralization and normalization: the options, and the scale computed from a tensor's sums
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
              "subtract each row's mean from gradients of rank 2 and higher"),
        field("centralize_axis", &Standardize::centralize_axis,
              "axis of the rows; the paper uses 0", at_least(0)),
        field("normalize", &Standardize::normalize,
              "norm that each tensor's gradient is scaled to: off, 1, or sqrt(size / "
              "reference_size)"),
        field("norm_epsilon", &Standardize::norm_epsilon, "added to the norm", at_least(0)),
        field("reference_size", &Standardize::reference_size,
              "number of elements of a tensor whose calibrated norm is 1", at_least(1))};
  }

  // Returns whether clipping can change a gradient: a normalized one has no scale.
  SING_HOST_DEVICE bool keeps_scale() const { return normalize == Normalize::kOff; }

  // Returns whether the row means of a tensor of this rank are subtracted.
  SING_HOST_DEVICE bool centralizes(std::int64_t rank) const { return centralize && rank >= 2; }
};

// The sums that the measure pass computes over a tensor. A float32 tensor's sum that overflows
// float32 counts as non-finite, so that every backend refuses the same gradients.
struct GradientSums {
  double squares = 0;          // Σ g²
  double centred_squares = 0;  // Σ (g − row mean)²; equal to squares without centralization
};

// The result of the measure pass for one tensor.
struct GradientScale {
  double factor;         // multiplies the centered gradient
  double gradient_norm;  // norm of the raw gradient, loss scale removed
  bool finite;
};

// Machine epsilon of the type that sums are accumulated in: double for float64 parameters, else
// float.
SING_HOST_DEVICE double accumulation_epsilon(Dtype parameter) {
  return parameter == Dtype::kFloat64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
}

SING_HOST_DEVICE bool sum_fits(double sum, Dtype parameter) {
  return parameter == Dtype::kFloat64 ? sum <= 1.7976931348623157e308
                                      : sum <= 3.4028234663852886e38;
}

// Equation 3 with a guard: centering a row-constant gradient leaves rounding noise, which must not
// be scaled up to the target norm. A zero gradient cannot be scaled either.
SING_HOST_DEVICE GradientScale gradient_scale(const Standardize& options, const GradientSums& sums,
                                              std::int64_t size, Dtype parameter,
                                              double loss_scale) {
  const double norm = ::sqrt(sums.squares);
  const double centred_norm = ::sqrt(sums.centred_squares);
  GradientScale scale{.factor = 1 / loss_scale,
                      .gradient_norm = norm / loss_scale,
                      .finite = sum_fits(sums.squares, parameter)};
  if (options.normalize != Normalize::kOff) {
    const double target = options.normalize == Normalize::kSizeCalibrated
                              ? ::sqrt(static_cast<double>(size) / options.reference_size)
                              : 1.0;
    scale.factor = target / (centred_norm + options.norm_epsilon * loss_scale);
  }
  // Infinite sums compare as not less, so they are not taken for noise.
  const bool only_noise = sums.centred_squares < sums.squares &&
                          centred_norm <= 8 * accumulation_epsilon(parameter) * norm;
  if (only_noise || scale.factor > 1.7976931348623157e308) {
    scale.factor = 0;
  }
  return scale;
}

// Equation 30, with the constant of torch.nn.utils.clip_grad_norm_: the factor that reduces the
// norm of all gradients together to the limit.
SING_HOST_DEVICE double clip_factor(double limit, double total_norm) {
  const double factor = limit / (total_norm + 1e-6);
  return factor < 1 ? factor : 1.0;
}

template <class Real>
SING_HOST_DEVICE Real standardized(Real gradient, Real row_mean, Real factor) {
  return (gradient - row_mean) * factor;
}

}  // namespace sing
