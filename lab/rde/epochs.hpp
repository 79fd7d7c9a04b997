// Selects the images that an epoch trains on and those used for testing.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "lab/data/split.hpp"
#include "sing/base/fields.hpp"

namespace sing::lab::rde {

struct SetOptions {
  bool fixed = false;
  std::int64_t train_count = 50'000;
  std::int64_t test_count = 10'000;

  static constexpr auto fields() {
    return std::tuple{
        field("fixed", &SetOptions::fixed, "use the same training images in every epoch"),
        field("train_count", &SetOptions::train_count, "training images per epoch",
              between(1, 4294967295.0)),
        field("test_count", &SetOptions::test_count, "test images, or validation images",
              between(1, 4294967295.0))};
  }
};

// The highest bit of an index is set for test images and the next one for validation images, so
// that training, validation and test images differ.
inline constexpr std::uint64_t kTestImages = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kValidationImages = std::uint64_t{1} << 62;

// Returns the image indices of epoch 0, 1, … in training order: new images in every epoch, or with
// `fixed` the first train_count images, shuffled for every epoch.
std::vector<std::uint64_t> training_indices(const SetOptions& options, std::uint64_t seed,
                                            std::uint64_t epoch);

// Both sets have test_count images.
std::vector<std::uint64_t> evaluation_indices(const SetOptions& options, data::EvaluationSet set);

}  // namespace sing::lab::rde
