// Checks the float softplus, which uses no library function, against the double one.
#include "sing/rule/math.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Every float in [low, high] is too many: `stride` steps through their bit patterns.
template <class Visit>
void for_floats(float low, float high, std::uint32_t stride, Visit visit) {
  const auto last = std::bit_cast<std::uint32_t>(high);
  for (std::uint32_t bits = std::bit_cast<std::uint32_t>(low); bits <= last; bits += stride) {
    visit(std::bit_cast<float>(bits));
  }
}

// Four roundings of 2⁻²⁴ of ln 2, the function's largest value: the power, the last product and the
// two last sums of the polynomial.
TEST(Log1pExpNegative, FloatErrorIsBelowItsBound) {
  double worst = 0;
  const auto check = [&](float y) {
    const double exact = std::log1p(std::exp(-static_cast<double>(y)));
    worst = std::max(worst, std::abs(static_cast<double>(log1p_exp_negative(y)) - exact));
  };
  check(0.0F);
  for_floats(0x1p-40F, 20.0F, 997, check);
  for (int i = 0; i <= 2'000'000; ++i) {
    check(static_cast<float>(i * 1e-5));
  }
  EXPECT_LE(worst, 4 * 0x1p-24 * std::log(2.0));
}

// Also relative to the value itself, which falls to e⁻²⁰.
TEST(Log1pExpNegative, FloatRelativeErrorStaysBelowTwoMillionths) {
  double worst = 0;
  for (int i = 0; i <= 200'000; ++i) {
    const auto y = static_cast<float>(i * 1e-4);
    const double exact = std::log1p(std::exp(-static_cast<double>(y)));
    worst = std::max(worst, std::abs(static_cast<double>(log1p_exp_negative(y)) / exact - 1));
  }
  EXPECT_LE(worst, 2e-6);
}

TEST(Log1pExpNegative, DoubleIsTheLibraryFunction) {
  for (const double y : {0.0, 1e-9, 0.5, 1.0, 7.25, 20.0}) {
    EXPECT_EQ(log1p_exp_negative(y), std::log1p(std::exp(-y)));
  }
}

float softplus_float(float x, float beta) { return softplus(x, beta, 1 / beta); }

double softplus_exact(double x, double beta) {
  return beta * x > 20 ? x : std::log1p(std::exp(beta * x)) / beta;
}

// x itself rounds at 2⁻²⁴ of the result, the logarithm at 4·2⁻²⁴·ln2/β (above), the sum once more,
// 1/β at 2⁻²⁴: 6·2⁻²⁴ relative at most, since the result is never below ln2/β.
TEST(Softplus, FloatAgreesWithDoubleOverTheCurvedPart) {
  for (const float beta : {0.5F, 1.0F, 5.0F, 50.0F, 1000.0F}) {
    double worst = 0;
    const auto check = [&](float x) {
      const double exact = softplus_exact(x, beta);
      worst = std::max(worst, std::abs(static_cast<double>(softplus_float(x, beta)) / exact - 1));
    };
    check(0.0F);
    for_floats(1e-30F, 21.0F / beta, 4999, check);
    EXPECT_LE(worst, 6 * 0x1p-24) << beta;
  }
}

TEST(Softplus, AtZeroIsLn2OverBeta) {
  EXPECT_NEAR(softplus_float(0.0F, 50.0F), std::log(2.0) / 50, 2e-9);
  EXPECT_DOUBLE_EQ(softplus(0.0, 50.0, 1 / 50.0), std::log(2.0) / 50);
}

// At βx = 20 the curved part is e⁻²⁰ = 2.06e-9 above the line: torch switches there, so do we.
TEST(Softplus, IsLinearAboveTwenty) {
  for (const double x : {0.4000001, 0.5, 1.0, 1e10, 1e300}) {
    EXPECT_EQ(softplus(x, 50.0, 1 / 50.0), x);
  }
  EXPECT_EQ(softplus(0.4, 50.0, 1 / 50.0), 0.4 + std::log1p(std::exp(-20.0)) / 50);
  for (const float x : {0.41F, 1.0F, 3e38F}) {
    EXPECT_EQ(softplus_float(x, 50.0F), x);
  }
}

TEST(Softplus, EdgeValues) {
  EXPECT_TRUE(std::isnan(softplus_float(kNan, 50.0F)));
  EXPECT_EQ(softplus_float(kInfinity, 50.0F), kInfinity);
  EXPECT_TRUE(std::isnan(softplus(std::numeric_limits<double>::quiet_NaN(), 50.0, 1 / 50.0)));
  EXPECT_EQ(softplus(HUGE_VAL, 50.0, 1 / 50.0), HUGE_VAL);
  const float subnormal = std::numeric_limits<float>::denorm_min();
  EXPECT_NEAR(softplus_float(subnormal, 50.0F), std::log(2.0) / 50, 2e-9);
}

TEST(Softplus, GrowsWithItsArgument) {
  float before = softplus_float(0.0F, 50.0F);
  for (int i = 1; i <= 100'000; ++i) {
    const float value = softplus_float(static_cast<float>(i) * 5e-6F, 50.0F);
    ASSERT_GE(value, before * (1 - 2 * 0x1p-24F)) << i;
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
