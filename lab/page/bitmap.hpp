// Writes a picture of numbers 0 … 255, each with its color, as a BMP file in memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lab/picture/picture.hpp"

namespace sing::lab::page {

struct Bitmap {
  std::size_t width = 0;
  std::size_t height = 0;
  std::vector<std::uint8_t> pixels;  // row by row from the top
  std::array<picture::Color, 256> colors{};
};

// Rows begin kBitmapHeader bytes from the start, run from the top down, and are padded to a
// multiple of four bytes. The page's script reads them there.
inline constexpr std::size_t kBitmapHeader = 14 + 40 + 4 * 256;
std::string bmp_bytes(const Bitmap& bitmap);

}  // namespace sing::lab::page
