// Checks that stochastic rounding to bfloat16 chooses each neighbor of a value with the right
// probability, and that its random bits do not depend on each other.
#include "sing/rule/stochastic_rounding.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "tests/support/random_values.hpp"

namespace sing {
namespace {

constexpr std::uint64_t kTensor = 0x0123456789abcdefU;
constexpr std::uint32_t kCount = 1U << 20;

// A sum of n independent values with variance s² exceeds 5 s √n with a probability of 6e-7. The
// numbers are the same in every run, so a test passes always or never.
constexpr double kDeviations = 5;

// The expected numbers were computed with NumPy from the description in the header.
TEST(StochasticRounding, HasTheseBits) {
  const std::array<std::uint32_t, 4> elements{0, 1, 2, 0xffffffffU};
  const std::array<std::uint32_t, 4> first{0x77c6, 0xe606, 0x0ca4, 0x87c5};
  const std::array<std::uint32_t, 4> second{0xbb8d, 0x5842, 0x9762, 0xe9c6};
  for (std::size_t i = 0; i < elements.size(); ++i) {
    EXPECT_EQ(StochasticRounding(kTensor, 1, 0).random_bits(elements[i]), first[i]);
    EXPECT_EQ(StochasticRounding(kTensor, 1, 1).random_bits(elements[i]), second[i]);
  }
  EXPECT_EQ(StochasticRounding(kTensor, 1000, 2).random_bits(5), 0xd3daU);
}

TEST(StochasticRounding, KeepsEveryBFloat16) {
  const StochasticRounding rounding(kTensor, 3, 0);
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const BFloat16 value{static_cast<std::uint16_t>(bits)};
    if (!std::isnan(to_float(value))) {
      ASSERT_EQ(rounding(to_float(value), bits).bits, bits);
    }
  }
}

TEST(StochasticRounding, NanStaysNan) {
  for (const std::uint32_t bits :
       {0x7f800001U, 0xff800001U, 0x7fc00000U, 0x7fffffffU, 0xffffffffU}) {
    for (std::uint32_t element = 0; element < 1000; ++element) {
      const BFloat16 rounded =
          StochasticRounding(kTensor, 1, 0)(std::bit_cast<float>(bits), element);
      ASSERT_TRUE(std::isnan(to_float(rounded))) << std::hex << bits;
    }
  }
}

// bfloat16 has 8 significant bits: its values in [2^e, 2^(e + 1)) are 2^(e − 7) apart, so a
// neighbor is less than 2⁻⁷ of the value away. Below 2⁻¹²⁶ the spacing is 2⁻¹³³.
TEST(StochasticRounding, GivesANeighbor) {
  const StochasticRounding rounding(kTensor, 7, 1);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const float value =
        std::bit_cast<float>(static_cast<std::uint32_t>(test::random_bits(11, i)) & 0xff7effffU);
    const double exact = static_cast<double>(value);
    const double error = std::abs(static_cast<double>(to_float(rounding(value, i))) - exact);
    ASSERT_LT(error, std::max(0x1p-7 * std::abs(exact), 0x1p-133)) << value;
  }
}

// If n elements have the same value, the number of elements that are rounded away from 0 has a
// binomial distribution with mean n p and variance n p (1 − p). p is the distance of the value from
// its lower neighbor, divided by the distance between the neighbors.
TEST(StochasticRounding, IsUnbiased) {
  for (const std::uint32_t lower : {1U, 77U, 4096U, 32767U, 32768U, 50000U, 65535U}) {
    for (const std::uint32_t upper : {0x3f80U, 0xbf80U, 0x0001U, 0x42f7U}) {
      for (std::size_t slot = 0; slot < 4; ++slot) {
        const float value = std::bit_cast<float>(upper << 16 | lower);
        const StochasticRounding rounding(kTensor + slot, 5, slot);
        double away = 0;
        for (std::uint32_t element = 0; element < kCount; ++element) {
          away += rounding(value, element).bits - upper;
        }
        const double share = lower / 65536.0;
        EXPECT_NEAR(away, kCount * share, kDeviations * std::sqrt(kCount * share * (1 - share)))
            << lower << ", slot " << slot;
      }
    }
  }
}

TEST(StochasticRounding, IsUnbiasedOverTheStepsOfOneElement) {
  const float value = std::bit_cast<float>(0x3f804000U);  // a quarter above the lower neighbor
  for (std::uint32_t element = 0; element < 8; ++element) {
    double away = 0;
    for (std::int64_t step = 1; step <= kCount; ++step) {
      away += StochasticRounding(kTensor, step, 0)(value, element).bits - 0x3f80U;
    }
    EXPECT_NEAR(away, kCount / 4.0, kDeviations * std::sqrt(kCount * 3 / 16.0)) << element;
  }
}

// The product of two independent uniform numbers in (−1/2, 1/2) has mean 0 and variance 1/144.
TEST(StochasticRounding, HasBitsThatDoNotDependOnEachOther) {
  using Number = std::function<double(std::uint32_t)>;
  const auto number = [](std::uint64_t tensor, std::int64_t step, std::size_t slot,
                         std::uint32_t distance) -> Number {
    return [=](std::uint32_t element) {
      return (StochasticRounding(tensor, step, slot).random_bits(element + distance) + 0.5) /
                 65536.0 -
             0.5;
    };
  };
  const Number one = number(kTensor, 9, 0, 0);
  const std::vector<Number> others{number(kTensor, 9, 0, 1),    number(kTensor, 9, 0, 2),
                                   number(kTensor, 9, 0, 1024), number(kTensor, 10, 0, 0),
                                   number(kTensor, 9, 1, 0),    number(kTensor, 9, 2, 0),
                                   number(kTensor + 1, 9, 0, 0)};
  for (std::size_t i = 0; i < others.size(); ++i) {
    double sum = 0;
    for (std::uint32_t element = 0; element < kCount; ++element) {
      sum += one(element) * others[i](element);
    }
    EXPECT_LE(std::abs(sum), kDeviations * std::sqrt(kCount / 144.0)) << i;
  }
}

// A mean with decay 0.999 falls by less than half a unit per step: rounded to nearest it stays
// where it is, rounded stochastically it decays as in real numbers. Each step adds an error of at
// most half a unit's standard deviation, 2⁻⁸ of the value, so that after t steps that of an element
// is at most 2⁻⁸ √t of it.
TEST(StochasticRounding, LetsASlowMeanDecay) {
  constexpr int kSteps = 1000;
  constexpr std::uint32_t kElements = 4096;
  constexpr float kDecay = 0.999F;
  double sum = 0;
  for (std::uint32_t element = 0; element < kElements; ++element) {
    BFloat16 mean = to_bfloat16(1.5F);
    for (std::int64_t step = 1; step <= kSteps; ++step) {
      mean = StochasticRounding(kTensor, step, 0)(kDecay * to_float(mean), element);
    }
    sum += static_cast<double>(to_float(mean));
  }
  const double expected = 1.5 * std::pow(0.999, kSteps);
  EXPECT_NEAR(sum / kElements, expected,
              kDeviations * expected * 0x1p-8 * std::sqrt(kSteps / double{kElements}));
  EXPECT_EQ(to_float(to_bfloat16(kDecay * 1.5F)), 1.5F);
}

}  // namespace
}  // namespace sing
