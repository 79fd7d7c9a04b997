// Declares the choice of the training images that are held out for validation.
#pragma once

#include <cstdint>
#include <vector>

namespace sing::lab::image {

// The places of the images in the training set, in ascending order.
struct HoldOut {
  std::vector<std::uint64_t> kept;
  std::vector<std::uint64_t> held;  // a tenth, at least one
};

// Depends only on the number of images, so that every run with every seed holds out the same ones.
// Throws std::invalid_argument for fewer than 2 images.
HoldOut hold_out(std::int64_t count);

}  // namespace sing::lab::image
