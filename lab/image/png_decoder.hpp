// Decodes PNG images.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "lab/image/rgb_image.hpp"

namespace sing::lab::image {

// Returns whether the bytes begin as a PNG file, whatever the file's name.
bool is_png(std::span<const std::byte> bytes);

// Decodes a whole PNG image to 8 bits per color. Gray images become red = green = blue, and
// transparency is dropped, as Pillow does. Throws FileError that names the image if it is truncated
// or corrupt or has more than kMostPixels.
ImageSize decode_png(std::span<const std::byte> bytes, std::string_view name, RgbImage& image);

}  // namespace sing::lab::image
