// Checks the float softplus, which uses no library function, against the double one.
#include "sing/rule/math.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace sing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Testing every float in [low, high] takes too long, so `stride` steps through their bit patterns.
template <class Visit>
void for_floats(float low, float high, std::uint32_t stride, Visit visit) {
  const auto last = std::bit_cast<std::uint32_t>(high);
  for (std::uint32_t bits = std::bit_cast<std::uint32_t>(low); bits <= last; bits += stride) {
    visit(std::bit_cast<float>(bits));
  }
}

// Computes softplus_β(factor · √v) with the quotient that the rules use: one division.
template <class Real>
Real softplus_of(Real v, double beta, double factor = 1) {
  const Quotient<Real> value = softplus(v, Softplus<Real>::of(beta, factor));
  return value.above / (value.below * static_cast<Real>(beta));
}

double softplus_exact(double x, double beta) {
  return beta * x > 20 ? x : std::log1p(std::exp(beta * x)) / beta;
}

// The fit is off by 1.4e-7, below 3·2⁻²⁴; h, both parts of the quotient and the division add at
// most two roundings each. The linear part beyond h = 6.6 omits 1.5e-7 at its start.
TEST(Softplus, FloatAgreesWithDoubleEverywhere) {
  for (const double beta : {1e-3, 0.5, 1.0, 5.0, 50.0, 1000.0}) {
    double worst = 0;
    const auto check = [&](float v) {
      const double exact = softplus_exact(std::sqrt(static_cast<double>(v)), beta);
      worst = std::max(worst, std::abs(static_cast<double>(softplus_of(v, beta)) / exact - 1));
    };
    check(0.0F);
    for_floats(1e-38F, 1e38F, 997, check);
    EXPECT_LE(worst, 8 * 0x1p-24) << beta;
  }
}

// The fit is off by 6.4e-8, about 2⁻²⁴, and the root, h, the polynomial and the sum add one
// rounding each.
TEST(Softplus, NearZeroAgreesWithDoubleUpToItsLimit) {
  for (const double beta : {1e-3, 1.0, 50.0, 1000.0}) {
    Softplus<float> constants = Softplus<float>::of(beta, 3);
    constants.is_near_zero = true;
    EXPECT_NEAR(3 * std::sqrt(constants.near_zero_limit) * beta / 2, 0.7, 1e-6);
    double worst = 0;
    const auto check = [&](float v) {
      const Quotient<float> value = softplus(v, constants);
      const double exact = softplus_exact(3 * std::sqrt(static_cast<double>(v)), beta) * beta;
      worst = std::max(worst, std::abs(static_cast<double>(value.above / value.below) / exact - 1));
    };
    check(0.0F);
    for_floats(1e-38F, constants.near_zero_limit, 997, check);
    EXPECT_LE(worst, 5 * 0x1p-24) << beta;
  }
}

TEST(Softplus, FactorIsThatOfTheRoot) {
  for (const double factor : {1.0, 3.0, 31.6}) {
    for (const double v : {1e-9, 1e-4, 2.0}) {
      const double exact = softplus_exact(factor * std::sqrt(v), 50);
      EXPECT_NEAR(softplus_of(v, 50, factor) / exact, 1, 1e-14);
      EXPECT_NEAR(softplus_of(static_cast<float>(v), 50, factor) / exact, 1, 10 * 0x1p-24);
    }
  }
}

TEST(Softplus, AtZeroIsLn2OverBeta) {
  EXPECT_NEAR(softplus_of(0.0F, 50), std::log(2.0) / 50, 4e-9);
  EXPECT_DOUBLE_EQ(softplus_of(0.0, 50), std::log(2.0) / 50);
}

// At βx = 20 the curved part is e⁻²⁰ = 2.06e-9 above the line: torch switches there, and so does
// the double version.
TEST(Softplus, IsLinearAboveTwenty) {
  for (const double x : {0.4000001, 0.5, 1.0, 1e10, 1e150}) {
    EXPECT_DOUBLE_EQ(softplus_of(x * x, 50), x);
  }
  EXPECT_DOUBLE_EQ(softplus_of(0.16, 50), 0.4 + std::log1p(std::exp(-20.0)) / 50);
  for (const float x : {0.41F, 1.0F, 1e19F}) {
    EXPECT_NEAR(softplus_of(x * x, 50) / x, 1, 4 * 0x1p-24);
  }
}

TEST(Softplus, EdgeValues) {
  constexpr double kDoubleNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(softplus_of(kNan, 50)));
  EXPECT_EQ(softplus_of(kInfinity, 50), kInfinity);
  EXPECT_TRUE(std::isnan(softplus_of(kDoubleNan, 50)));
  EXPECT_EQ(softplus_of(HUGE_VAL, 50), HUGE_VAL);
  const float subnormal = std::numeric_limits<float>::denorm_min();
  EXPECT_NEAR(softplus_of(subnormal, 50), std::log(2.0) / 50, 4e-9);
}

TEST(Softplus, GrowsWithItsArgument) {
  float before = softplus_of(0.0F, 50);
  for (int i = 1; i <= 100'000; ++i) {
    const float x = static_cast<float>(i) * 5e-6F;
    const float value = softplus_of(x * x, 50);
    ASSERT_GE(value, before * (1 - 4 * 0x1p-24F)) << i;
    before = value;
  }
}

TEST(SquareRoot, IsCorrectlyRounded) {
  for_floats(1e-38F, 1e38F, 99'991, [](float x) {
    ASSERT_EQ(square_root(x), static_cast<float>(std::sqrt(static_cast<double>(x)))) << x;
  });
  EXPECT_EQ(square_root(2.0), std::sqrt(2.0));
}

}  // namespace
}  // namespace sing
