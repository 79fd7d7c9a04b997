// Element types of tensors, and the conversions of the two 16-bit ones.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "sing/base/enum_names.hpp"
#include "sing/base/portable.hpp"

namespace sing {

enum class Dtype : std::int32_t { kFloat32, kFloat64, kBFloat16, kFloat16, kInt64 };

constexpr std::size_t size_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat32:
      return 4;
    case Dtype::kFloat64:
    case Dtype::kInt64:
      return 8;
    case Dtype::kBFloat16:
    case Dtype::kFloat16:
      return 2;
  }
  return 0;
}

constexpr auto enum_names(Dtype) {
  return std::to_array<EnumName<Dtype>>({{Dtype::kFloat32, "float32"},
                                         {Dtype::kFloat64, "float64"},
                                         {Dtype::kBFloat16, "bfloat16"},
                                         {Dtype::kFloat16, "float16"},
                                         {Dtype::kInt64, "int64"}});
}

constexpr bool is_floating(Dtype dtype) { return dtype != Dtype::kInt64; }
constexpr bool is_low_precision(Dtype dtype) { return size_of(dtype) == 2; }

// The type of a parameter's state: as precise as the parameter, and at least float32.
constexpr Dtype state_dtype(Dtype parameter) {
  return parameter == Dtype::kFloat64 ? Dtype::kFloat64 : Dtype::kFloat32;
}

// Storage types; arithmetic is done in float. The conversions use integer operations and selects,
// no branches, so that loops over them vectorize and give the same bits on every instruction set.
struct BFloat16 {
  std::uint16_t bits;
};

struct Float16 {
  std::uint16_t bits;
};

SING_HOST_DEVICE float to_float(BFloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

// Rounds to nearest even; NaN stays NaN.
SING_HOST_DEVICE BFloat16 to_bfloat16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const std::uint32_t quiet_nan = (bits >> 16) | 0x40U;
  const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
  return {static_cast<std::uint16_t>(is_nan ? quiet_nan : rounded)};
}

SING_HOST_DEVICE float to_float(Float16 value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(value.bits & 0x7fffU) << 13;
  const std::uint32_t exponent = magnitude & 0x0f800000U;
  // Rebias by 112; infinities and NaN need 112 more.
  const std::uint32_t normal =
      magnitude + 0x38000000U + (exponent == 0x0f800000U ? 0x38000000U : 0U);
  // A subnormal half m·2⁻²⁴ is the exact difference of 2⁻¹⁴(1 + m·2⁻¹⁰) and 2⁻¹⁴.
  const float subnormal =
      std::bit_cast<float>(magnitude + 0x38800000U) - std::bit_cast<float>(0x38800000U);
  const std::uint32_t bits = exponent == 0 ? std::bit_cast<std::uint32_t>(subnormal) : normal;
  return std::bit_cast<float>(sign | bits);
}

// Rounds to nearest even; overflow gives infinity, NaN stays NaN.
SING_HOST_DEVICE Float16 to_float16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t normal = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  // Adding 0.5 lets the float adder round the magnitude to a multiple of 2⁻²⁴.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
  std::uint32_t half = magnitude < 0x38800000U ? subnormal : normal;
  half = magnitude >= 0x477ff000U ? 0x7c00U : half;  // 65520 and above round to infinity
  half = magnitude > 0x7f800000U ? 0x7e00U : half;
  return {static_cast<std::uint16_t>(sign | half)};
}

}  // namespace sing
