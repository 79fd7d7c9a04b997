// Returns the numbers 0 … count − 1 in random order.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "lab/random/random_stream.hpp"

namespace sing::lab::random {

// Fisher-Yates shuffle; count is below 2^32.
inline std::vector<std::uint64_t> shuffled(std::int64_t count, RandomStream random) {
  std::vector<std::uint64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  for (std::size_t left = numbers.size(); left > 1; --left) {
    std::swap(numbers[left - 1], numbers[random.below(static_cast<std::uint32_t>(left))]);
  }
  return numbers;
}

}  // namespace sing::lab::random
