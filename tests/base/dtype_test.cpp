// Checks the conversions of the 16-bit types against arithmetic on exponent and mantissa, over all
// their values, the midpoints between them and random floats.
#include "sing/base/dtype.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/support/random_values.hpp"

namespace sing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Defines a 16-bit IEEE 754 binary format.
struct Format {
  int mantissa_bits;
  int least_exponent;  // smallest exponent of normal numbers
  int bias;
  double largest;

  int exponent_bits() const { return 15 - mantissa_bits; }

  double decode(std::uint16_t bits) const {
    const int mantissa = bits & ((1 << mantissa_bits) - 1);
    const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits()) - 1);
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    if (exponent == (1 << exponent_bits()) - 1) {
      return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                           : std::numeric_limits<double>::quiet_NaN();
    }
    if (exponent == 0) {
      return sign * std::ldexp(mantissa, least_exponent - mantissa_bits);
    }
    return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
  }

  // Returns the nearest representable value, ties to even; the quotient is exact because the
  // quantum is a power of two.
  double round(float value) const {
    if (!std::isfinite(value) || value == 0) {
      return value;
    }
    const int exponent = std::max(std::ilogb(value), least_exponent);
    const double quantum = std::ldexp(1.0, exponent - mantissa_bits);
    const double rounded = std::nearbyint(value / quantum) * quantum;
    return std::abs(rounded) > largest
               ? std::copysign(std::numeric_limits<double>::infinity(), rounded)
               : rounded;
  }
};

constexpr Format kHalf{10, -14, 15, 65504};
constexpr Format kBrain{7, -126, 127, 0x1.fep127};

template <class Type>
struct Conversion;

template <>
struct Conversion<Float16> {
  static constexpr const Format& format = kHalf;
  static Float16 from(float value) { return to_float16(value); }
};

template <>
struct Conversion<BFloat16> {
  static constexpr const Format& format = kBrain;
  static BFloat16 from(float value) { return to_bfloat16(value); }
};

template <class Type>
bool rounds_correctly(float value) {
  const Type converted = Conversion<Type>::from(value);
  const double actual = Conversion<Type>::format.decode(converted.bits);
  const double expected = Conversion<Type>::format.round(value);
  if (std::isnan(expected)) {
    return std::isnan(actual);
  }
  return actual == expected && std::signbit(actual) == std::signbit(expected);
}

template <class Type>
class SixteenBits : public ::testing::Test {};
using SixteenBitTypes = ::testing::Types<Float16, BFloat16>;
TYPED_TEST_SUITE(SixteenBits, SixteenBitTypes);

TYPED_TEST(SixteenBits, EveryValueWidensExactly) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const TypeParam value{static_cast<std::uint16_t>(bits)};
    const double expected = Conversion<TypeParam>::format.decode(value.bits);
    const float widened = to_float(value);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(widened)) << std::hex << bits;
    } else {
      ASSERT_EQ(widened, expected) << std::hex << bits;
      ASSERT_EQ(std::signbit(widened), std::signbit(expected)) << std::hex << bits;
    }
  }
}

TYPED_TEST(SixteenBits, EveryValueSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const TypeParam value{static_cast<std::uint16_t>(bits)};
    const TypeParam back = Conversion<TypeParam>::from(to_float(value));
    if (std::isnan(to_float(value))) {
      ASSERT_TRUE(std::isnan(to_float(back))) << std::hex << bits;
    } else {
      ASSERT_EQ(back.bits, value.bits) << std::hex << bits;
    }
  }
}

TYPED_TEST(SixteenBits, MidpointsGoToEvenAndTheirNeighborsToTheNearer) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float value = to_float(TypeParam{static_cast<std::uint16_t>(bits)});
    const float next = to_float(TypeParam{static_cast<std::uint16_t>(bits + 1)});
    if (!std::isfinite(value) || !std::isfinite(next)) {
      continue;
    }
    // The midpoint of two 16-bit neighbors needs one more bit, which a float has.
    const float middle = static_cast<float>((static_cast<double>(value) + next) / 2);
    ASSERT_TRUE(rounds_correctly<TypeParam>(middle)) << std::hex << bits;
    ASSERT_TRUE(rounds_correctly<TypeParam>(std::nextafter(middle, kInfinity))) << std::hex << bits;
    ASSERT_TRUE(rounds_correctly<TypeParam>(std::nextafter(middle, -kInfinity)))
        << std::hex << bits;
  }
}

TYPED_TEST(SixteenBits, RandomFloatsRoundToNearestEven) {
  constexpr std::uint64_t kCount = 2'000'000;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const auto bits = static_cast<std::uint32_t>(test::random_bits(7, i));
    ASSERT_TRUE(rounds_correctly<TypeParam>(std::bit_cast<float>(bits))) << std::hex << bits;
  }
}

TYPED_TEST(SixteenBits, EdgesOfEveryBinadeRoundToNearestEven) {
  for (int exponent = -149; exponent <= 127; ++exponent) {
    for (const float sign : {1.0F, -1.0F}) {
      const float power = sign * std::ldexp(1.0F, exponent);
      for (const float value :
           {power, std::nextafter(power, 0.0F), std::nextafter(power, sign * kInfinity)}) {
        ASSERT_TRUE(rounds_correctly<TypeParam>(value)) << value;
      }
    }
  }
  for (const float value :
       {kInfinity, -kInfinity, std::numeric_limits<float>::max(),
        std::numeric_limits<float>::lowest(), 65519.996F, 65520.0F, 0.0F, -0.0F}) {
    ASSERT_TRUE(rounds_correctly<TypeParam>(value)) << value;
  }
}

// The NaN has only low mantissa bits set: dropping them must not leave an infinity.
TYPED_TEST(SixteenBits, NanStaysNan) {
  for (const std::uint32_t bits :
       {0x7f800001U, 0xff800001U, 0x7fc00000U, 0x7fffffffU, 0xffffffffU}) {
    const float value = std::bit_cast<float>(bits);
    EXPECT_TRUE(std::isnan(to_float(Conversion<TypeParam>::from(value)))) << std::hex << bits;
  }
}

TEST(Dtype, SizesAndNames) {
  EXPECT_EQ(size_of(Dtype::kFloat32), 4U);
  EXPECT_EQ(size_of(Dtype::kFloat64), 8U);
  EXPECT_EQ(size_of(Dtype::kBFloat16), 2U);
  EXPECT_EQ(size_of(Dtype::kFloat16), 2U);
  EXPECT_EQ(size_of(Dtype::kInt64), 8U);
  EXPECT_EQ(name_of(Dtype::kFloat32), "float32");
  EXPECT_EQ(name_of(Dtype::kFloat64), "float64");
  EXPECT_EQ(name_of(Dtype::kBFloat16), "bfloat16");
  EXPECT_EQ(name_of(Dtype::kFloat16), "float16");
  EXPECT_EQ(name_of(Dtype::kInt64), "int64");
}

TEST(Dtype, StateIsNeverLessPreciseThanFloat32) {
  EXPECT_EQ(state_dtype(Dtype::kFloat64), Dtype::kFloat64);
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kBFloat16, Dtype::kFloat16}) {
    EXPECT_EQ(state_dtype(dtype), Dtype::kFloat32);
  }
}

}  // namespace
}  // namespace sing
