// Encodes images as JPEG.
#pragma once

#include <cstddef>
#include <vector>

#include "lab/image/rgb_image.hpp"

namespace sing::lab::image {

// Color planes have half the size, as in photos and ImageNet; quality is 1 … 100.
std::vector<std::byte> encode_jpeg(const ImageView& image, int quality);

}  // namespace sing::lab::image
