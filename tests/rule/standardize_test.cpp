// Checks the scale computed from a tensor's sums: target, epsilon, loss scale, guard, and what
// counts as finite.
#include "sing/rule/standardize.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

GradientScale scale_of(const Standardize& options, double squares, double centred_squares) {
  return gradient_scale(options, {squares, centred_squares}, 4, Dtype::kFloat64, 1);
}

// With a norm of 5 and ε = 0, the factor is 1/5.
TEST(GradientScale, MakesTheNormOne) {
  const GradientScale scale = scale_of({.norm_epsilon = 0}, 25, 25);
  EXPECT_EQ(scale.factor, 0.2);
  EXPECT_EQ(scale.gradient_norm, 5);
  EXPECT_TRUE(scale.finite);
}

// The raw norm is 13; the centered gradient has norm 5, which determines the factor.
TEST(GradientScale, NormalizesWhatCenteringLeaves) {
  const GradientScale scale = scale_of({.norm_epsilon = 0}, 169, 25);
  EXPECT_EQ(scale.factor, 0.2);
  EXPECT_EQ(scale.gradient_norm, 13);
}

TEST(GradientScale, AddsEpsilonToTheNorm) {
  EXPECT_EQ(scale_of({.norm_epsilon = 3}, 25, 25).factor, 0.125);
}

// The target √(4/16) = 1/2 is divided by a norm of 5.
TEST(GradientScale, SizeCalibratedTarget) {
  const Standardize options{
      .normalize = Normalize::kSizeCalibrated, .norm_epsilon = 0, .reference_size = 16};
  EXPECT_EQ(scale_of(options, 25, 25).factor, 0.1);
}

TEST(GradientScale, TheDefaultReferenceSizeIsTheLargestMatrixOfViTSmall) {
  EXPECT_EQ(Standardize{}.reference_size, 384 * 1536);
}

// The gradients are multiplied by 8: the norm is reported as 5, and ε is multiplied too, so the
// result is 5/(5 + 3) of the direction, as without the scale.
TEST(GradientScale, LossScaleIsRemoved) {
  const GradientSums scaled{25 * 64, 25 * 64};
  const GradientScale off =
      gradient_scale({.normalize = Normalize::kOff}, scaled, 4, Dtype::kFloat32, 8);
  EXPECT_EQ(off.factor, 0.125);
  EXPECT_EQ(off.gradient_norm, 5);
  const GradientScale unit = gradient_scale({.norm_epsilon = 3}, scaled, 4, Dtype::kFloat32, 8);
  EXPECT_EQ(unit.factor, 1.0 / 64);
  EXPECT_EQ(unit.gradient_norm, 5);
}

TEST(GradientScale, NormalizationOffLeavesTheSize) {
  EXPECT_EQ(scale_of({.normalize = Normalize::kOff}, 25, 25).factor, 1);
}

// The guard is ‖centered‖ ≤ 8 ε ‖g‖ with ε = 2⁻²³ or 2⁻⁵²; both sides of the limit are tested.
TEST(GradientScale, OnlyNoiseLeavesNothing) {
  struct Case {
    Dtype dtype;
    double limit;
  };
  for (const Case& each :
       {Case{Dtype::kFloat32, 8 * 0x1p-23}, Case{Dtype::kBFloat16, 8 * 0x1p-23},
        Case{Dtype::kFloat16, 8 * 0x1p-23}, Case{Dtype::kFloat64, 8 * 0x1p-52}}) {
    for (const Normalize normalize :
         {Normalize::kOff, Normalize::kUnitNorm, Normalize::kSizeCalibrated}) {
      const auto factor = [&](double centred_norm) {
        return gradient_scale({.normalize = normalize}, {1, centred_norm * centred_norm}, 4,
                              each.dtype, 1)
            .factor;
      };
      EXPECT_EQ(factor(each.limit), 0) << name_of(each.dtype);
      EXPECT_EQ(factor(0), 0) << name_of(each.dtype);
      EXPECT_GT(factor(each.limit * 1.001), 0) << name_of(each.dtype);
    }
  }
}

TEST(GradientScale, AZeroGradientHasNoInfiniteFactor) {
  EXPECT_EQ(scale_of({.norm_epsilon = 0}, 0, 0).factor, 0);
  EXPECT_EQ(scale_of({.norm_epsilon = 0.5}, 0, 0).factor, 2);
}

TEST(GradientScale, FiniteMeansThatTheSumFitsItsType) {
  const double float_limit = std::numeric_limits<float>::max();
  const auto finite = [](double squares, Dtype dtype) {
    return gradient_scale({}, {squares, squares}, 4, dtype, 1).finite;
  };
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kBFloat16, Dtype::kFloat16}) {
    EXPECT_TRUE(finite(float_limit, dtype));
    EXPECT_FALSE(finite(std::nextafter(float_limit, HUGE_VAL), dtype));
    EXPECT_FALSE(finite(HUGE_VAL, dtype));
    EXPECT_FALSE(finite(kNan, dtype));
  }
  EXPECT_TRUE(finite(1e300, Dtype::kFloat64));
  EXPECT_TRUE(finite(std::numeric_limits<double>::max(), Dtype::kFloat64));
  EXPECT_FALSE(finite(HUGE_VAL, Dtype::kFloat64));
  EXPECT_FALSE(finite(kNan, Dtype::kFloat64));
}

TEST(Standardize, CentralizesFromRankTwo) {
  const Standardize on;
  EXPECT_FALSE(on.centralizes(0));
  EXPECT_FALSE(on.centralizes(1));
  EXPECT_TRUE(on.centralizes(2));
  EXPECT_TRUE(on.centralizes(4));
  EXPECT_FALSE((Standardize{.centralize = false}).centralizes(2));
}

TEST(Standardize, OneElement) { EXPECT_EQ(standardized(7.0, 3.0, 0.5), 2); }

TEST(Normalize, HasNames) {
  for (const Normalize each : {Normalize::kOff, Normalize::kUnitNorm, Normalize::kSizeCalibrated}) {
    EXPECT_EQ(parse_enum<Normalize>(name_of(each)), each);
  }
  EXPECT_EQ(parse_enum<Normalize>("unit"), std::nullopt);
}

}  // namespace
}  // namespace sing
