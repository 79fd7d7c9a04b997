// Encodes images as JPEG.
#pragma once

#include <cstddef>
#include <vector>

#include "lab/image/rgb_image.hpp"

namespace sing::lab::image {

// Colour planes at half the size, as cameras and ImageNet have them; quality is 1 … 100.
std::vector<std::byte> encode_jpeg(const ImageView& image, int quality);

}  // namespace sing::lab::image
