// Defines the order in which an epoch visits the images.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/image/image_source.hpp"

namespace sing::lab::image {

// Training images are shuffled by seed and epoch; test images keep their order.
class EpochOrder {
 public:
  EpochOrder(std::uint64_t seed, std::int64_t training_count, std::int64_t test_count);

  // Returns `count` images of an epoch from position `first` on, valid until the next call.
  std::span<const std::uint64_t> indices(Split subset, std::int64_t epoch, std::int64_t first,
                                         std::int64_t count);

 private:
  std::uint64_t seed_;
  std::int64_t training_count_;
  std::int64_t epoch_ = -1;  // epoch that training_ holds
  std::vector<std::uint64_t> training_, test_;
};

}  // namespace sing::lab::image
