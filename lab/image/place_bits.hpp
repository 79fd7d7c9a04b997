// Defines the fixed-point coordinates of rotated images, shared by tensor functions and kernel.
#pragma once

#include <cstdint>

#include "lab/image/augment_parameters.hpp"
#include "sing/base/portable.hpp"

namespace sing::lab::image {

// The product of two 11-bit weights and a byte has 30 bits and fits in 32-bit integers.
inline constexpr int kPlaceBits = 11;
inline constexpr std::int32_t kPlaceUnit = 1 << kPlaceBits;

// Converts a doubled offset from the center in units of 2^-kAngleBits to a coordinate in units of
// 2^-kPlaceBits: (offset + doubled_middle(size)) >> kDroppedBits.
inline constexpr int kDroppedBits = kAngleBits + 1 - kPlaceBits;
SING_HOST_DEVICE std::int32_t doubled_middle(std::int32_t size) {
  return ((size - 1) << kAngleBits) + (1 << (kDroppedBits - 1));
}

}  // namespace sing::lab::image
