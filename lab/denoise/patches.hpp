// Cuts patches from images and draws their noise.
#pragma once

#include <cstdint>
#include <span>

#include "lab/image/crop_loader.hpp"

namespace sing::lab::denoise {

// The places of patches and their noise follow from these fields and an image's index alone, so
// that a resumed run sees the same ones. A test patch is the middle of its image, and its noise is
// the same for every seed.
struct PatchRule {
  image::Split subset = image::Split::kTraining;
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;  // below 2^32
  int size = 40;            // pixels per side

  // Throws std::invalid_argument if the image is smaller than the patch.
  image::Crop choose(image::ImageSize image, std::uint64_t index) const;
  // Fills `noise` with numbers of a normal distribution of deviation 1.
  void draw_noise(std::uint64_t index, std::span<float> noise) const;
};

}  // namespace sing::lab::denoise
