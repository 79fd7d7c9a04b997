// The fixed-point places of an image that is turned, the same for tensor functions and kernel.
#pragma once

#include <cstdint>

#include "lab/image/augment_parameters.hpp"
#include "sing/base/portable.hpp"

namespace sing::lab::image {

// Two weights of 11 bits and a byte make 30: whole numbers of 32 bits hold them.
inline constexpr int kPlaceBits = 11;
inline constexpr std::int32_t kPlaceUnit = 1 << kPlaceBits;

// A place in units of 2^-kPlaceBits is had from twice that in units of 2^-kAngleBits, plus this and
// shifted right by kDroppedBits.
inline constexpr int kDroppedBits = kAngleBits + 1 - kPlaceBits;
SING_HOST_DEVICE std::int32_t doubled_middle(std::int32_t size) {
  return ((size - 1) << kAngleBits) + (1 << (kDroppedBits - 1));
}

}  // namespace sing::lab::image
