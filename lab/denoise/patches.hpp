// Cuts patches from images and draws their noise.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/image/crop_loader.hpp"
#include "lab/image/image_source.hpp"

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

class PatchLoader {
 public:
  // The source must outlive the loader. Throws std::invalid_argument for threads < 1.
  PatchLoader(const image::ImageSource& source, int threads);

  // Writes the patch of image indices[i] to position i of `pixels`, uint8 [B, size, size, 3], and
  // its noise to that of `noise`, float of the same shape. Throws FileError that names an image
  // that cannot be read. Only one call may run at a time.
  void load(std::span<const std::uint64_t> indices, const PatchRule& rule, std::uint8_t* pixels,
            float* noise);

 private:
  struct Tools {
    image::CropReader reader;
    std::vector<std::byte> buffer;
  };

  const image::ImageSource& source_;
  int threads_;
  std::vector<Tools> tools_;
};

}  // namespace sing::lab::denoise
