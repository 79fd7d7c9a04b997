// Defines a sequence of random integers identified by a seed, an item and a purpose.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lab/random/philox.hpp"

namespace sing::lab::random {

// Streams with different identifiers use different counters. Only integers are generated, because
// floating-point results may differ between machines.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint64_t item, std::uint32_t purpose)
      : key_{low_word(seed), high_word(seed)},
        counter_{0, purpose, low_word(item), high_word(item)} {}

  std::uint32_t next() {
    if (used_ == block_.size()) {
      block_ = philox(counter_, key_);
      ++counter_[0];
      used_ = 0;
    }
    return block_[used_++];
  }

  // Uniform in 0 … bound − 1, without bias (Lemire 2019, "Fast random integer generation in an
  // interval"); bound ≥ 1.
  std::uint32_t below(std::uint32_t bound) {
    std::uint64_t product = std::uint64_t{next()} * bound;
    if (low_word(product) < bound) {
      const std::uint32_t refused = (0U - bound) % bound;
      while (low_word(product) < refused) {
        product = std::uint64_t{next()} * bound;
      }
    }
    return high_word(product);
  }

 private:
  static constexpr std::uint32_t low_word(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
  }
  static constexpr std::uint32_t high_word(std::uint64_t value) {
    return static_cast<std::uint32_t>(value >> 32);
  }

  PhiloxKey key_;
  PhiloxCounter counter_;  // word 0 counts blocks
  PhiloxCounter block_{};
  std::size_t used_ = block_.size();
};

}  // namespace sing::lab::random
