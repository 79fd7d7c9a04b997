// Defines a set of small images in memory: CIFAR-100, MNIST or generated images.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace sing::lab::image {

struct SmallShape {
  std::int64_t channels = 3;
  std::int64_t size = 32;  // pixels per side
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
  std::array<SmallSubset, 2> subsets;  // indexed by Split
};

// Returns the set without its test images and with the held-out training images (hold_out) in their
// place.
SmallSet with_validation(const SmallSet& set);

// SHA-256 of all pixels and labels, in hexadecimal.
std::string digest_of(const SmallSet& set);

}  // namespace sing::lab::image
