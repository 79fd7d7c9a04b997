// Stochastic rounding to bfloat16: to one of the two neighbors of a value, with the probabilities
// that make the expected result the value itself (docs/memory.md).
//
// A running mean with decay β changes by about 1 − β of itself per step. For β = 0.999 this is less
// than half a unit in the last place of bfloat16, so that rounding to nearest would stop the mean.
//
// The random bits are a hash of tensor, step, slot and element. There is no generator whose state
// would have to be saved, and an element's bits depend neither on threads nor on vector width. The
// hash costs two 32-bit multiplications; Philox4x32-10 would cost twenty products of 64 bits for
// eight results. It is not cryptographic, but rounding only needs bits that are uniform and do not
// correlate between elements, steps and slots (tests/rule/stochastic_rounding_test.cpp).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "sing/base/dtype.hpp"
#include "sing/base/portable.hpp"

namespace sing {

// A bijection in which each bit of the argument changes each bit of the result with a probability
// near 1/2: the finalizer of SplitMix64 (Steele, Lea and Flood, 2014).
SING_HOST_DEVICE std::uint64_t scrambled(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

// Rounds one slot of one tensor in one step.
class StochasticRounding {
 public:
  // `tensor` is any number that tells the tensor from others. Two slots share a hash: the first
  // takes the lower 16 bits of the result.
  SING_HOST_DEVICE StochasticRounding(std::uint64_t tensor, std::int64_t step, std::size_t slot)
      : shift_(slot % 2 == 0 ? 0 : 16) {
    const std::uint64_t key =
        scrambled(scrambled(tensor) + static_cast<std::uint64_t>(step) * 4 + slot / 2);
    before_ = static_cast<std::uint32_t>(key);
    between_ = static_cast<std::uint32_t>(key >> 32);
  }

  // `element` counts modulo 2^32. NaN stays NaN, and values that bfloat16 represents stay as they
  // are. The upper 16 bits of a float32 are a bfloat16; adding 16 random bits to the lower ones
  // carries into it with a probability of the lower bits / 2^16.
  SING_HOST_DEVICE BFloat16 operator()(float value, std::uint32_t element) const {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (bits + random_bits(element)) >> 16;
    const std::uint32_t quiet_nan = (bits >> 16) | 0x40U;
    const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
    return {static_cast<std::uint16_t>(is_nan ? quiet_nan : rounded)};
  }

  // 16 random bits. The steps and constants are those of "lowbias32" (Wellons, "Prospecting for
  // hash functions", 2018), with half of the key added before each multiplication, so that two keys
  // do not give permutations of the same numbers.
  SING_HOST_DEVICE std::uint32_t random_bits(std::uint32_t element) const {
    std::uint32_t hash = element + before_;
    hash = (hash ^ (hash >> 16)) * 0x7feb352dU + between_;
    hash = (hash ^ (hash >> 15)) * 0x846ca68bU;
    return ((hash ^ (hash >> 16)) >> shift_) & 0xffffU;
  }

 private:
  std::uint32_t before_ = 0, between_ = 0;  // the key
  int shift_;
};

}  // namespace sing
