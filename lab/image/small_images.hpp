// A set of small images, all in memory: CIFAR-100, MNIST, or generated ones in their place.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace sing::lab::image {

struct SmallShape {
  std::int64_t channels = 3;
  std::int64_t size = 32;  // pixels a side
  std::int64_t classes = 100;

  std::int64_t values() const { return channels * size * size; }
};

struct SmallSubset {
  std::vector<std::uint8_t> pixels;  // [N, channels, size, size]
  std::vector<std::uint8_t> labels;  // [N]

  std::int64_t count() const { return static_cast<std::int64_t>(labels.size()); }
};

struct SmallSet {
  SmallShape shape;
  std::array<SmallSubset, 2> subsets;  // by Split
};

// SHA-256 of every pixel and label, in hexadecimal.
std::string digest_of(const SmallSet& set);

}  // namespace sing::lab::image
