// Generates numbers that depend only on a seed and a position, the same on every machine.
#pragma once

#include <cstdint>
#include <vector>

namespace sing::test {

// Applies SplitMix64 (Steele, Lea and Flood, 2014) to the position.
inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t position) {
  std::uint64_t z = seed * 0xd1342543de82ef95U + (position + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// Returns a uniform number in [-1, 1).
inline double random_value(std::uint64_t seed, std::uint64_t position) {
  return static_cast<double>(random_bits(seed, position) >> 11) * 0x1p-52 - 1;
}

inline std::vector<double> random_values(std::uint64_t seed, std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = random_value(seed, i);
  }
  return values;
}

}  // namespace sing::test
