// In which order an epoch goes through the images.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/image/image_source.hpp"

namespace sing::lab::image {

// Training images shuffled anew every epoch, a function of seed and epoch; test images in order.
class EpochOrder {
 public:
  EpochOrder(std::uint64_t seed, std::int64_t training_count, std::int64_t test_count);

  // `count` images from place `first` of an epoch on. They stay until the next call.
  std::span<const std::uint64_t> indices(Split subset, std::int64_t epoch, std::int64_t first,
                                         std::int64_t count);

 private:
  std::uint64_t seed_;
  std::int64_t training_count_;
  std::int64_t epoch_ = -1;  // of training_
  std::vector<std::uint64_t> training_, test_;
};

}  // namespace sing::lab::image
