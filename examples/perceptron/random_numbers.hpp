// Draws random numbers that are equal on every machine: SplitMix64 and sums of uniform numbers.
#pragma once

#include <cstdint>

namespace example {

class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) : state_(seed) {}

  // Returns a uniform number in [0, 1).
  float uniform() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t bits = state_;
    bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
    return static_cast<float>((bits ^ (bits >> 31U)) >> 40U) * 0x1p-24F;
  }

  // Returns the sum of twelve uniform numbers minus 6: mean 0, variance 1, close to normal.
  float normal() {
    float sum = -6;
    for (int i = 0; i < 12; ++i) {
      sum += uniform();
    }
    return sum;
  }

 private:
  std::uint64_t state_;
};

}  // namespace example
