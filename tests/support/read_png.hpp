// Reads PNG files with libpng, to check what the lab wrote.
#pragma once

#include <png.h>

#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "lab/picture/picture.hpp"

namespace sing::test {

// Reads any PNG file, with alpha over black. Throws std::runtime_error.
inline lab::picture::Picture read_png(const std::filesystem::path& path) {
  png_image image;
  std::memset(&image, 0, sizeof(image));
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_file(&image, path.c_str()) == 0) {
    throw std::runtime_error(path.string() + ": " + image.message);
  }
  image.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> bytes(PNG_IMAGE_SIZE(image));
  const png_color black = {0, 0, 0};
  if (png_image_finish_read(&image, &black, bytes.data(), 0, nullptr) == 0) {
    throw std::runtime_error(path.string() + ": " + image.message);
  }
  lab::picture::Picture picture(static_cast<int>(image.width), static_cast<int>(image.height),
                                {0, 0, 0});
  for (int y = 0; y < picture.height(); ++y) {
    for (int x = 0; x < picture.width(); ++x) {
      const std::uint8_t* const pixel =
          &bytes[3 * static_cast<std::size_t>(y * picture.width() + x)];
      picture.set(x, y, {pixel[0], pixel[1], pixel[2]});
    }
  }
  return picture;
}

}  // namespace sing::test
