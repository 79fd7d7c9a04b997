// Writes BITMAPFILEHEADER, BITMAPINFOHEADER, 256 colors and the rows.
#include "lab/page/bitmap.hpp"

namespace sing::lab::page {
namespace {

void append(std::string& bytes, std::uint64_t value, int size) {
  for (int byte = 0; byte < size; ++byte) {
    bytes += static_cast<char>(value >> (8 * byte) & 255);
  }
}

}  // namespace

std::string bmp_bytes(const Bitmap& bitmap) {
  const std::size_t stride = (bitmap.width + 3) / 4 * 4;
  std::string bytes = "BM";
  append(bytes, kBitmapHeader + stride * bitmap.height, 4);
  append(bytes, 0, 4);
  append(bytes, kBitmapHeader, 4);
  append(bytes, 40, 4);
  append(bytes, bitmap.width, 4);
  append(bytes, 0 - bitmap.height, 4);  // negative: the first row is the top row
  append(bytes, 1, 2);
  append(bytes, 8, 2);
  append(bytes, 0, 4);  // not compressed
  append(bytes, stride * bitmap.height, 4);
  append(bytes, 2835, 4);  // pixels per meter, 72 dpi
  append(bytes, 2835, 4);
  append(bytes, 256, 4);
  append(bytes, 0, 4);
  for (const picture::Color& color : bitmap.colors) {
    append(bytes, color[2], 1);
    append(bytes, color[1], 1);
    append(bytes, color[0], 1);
    append(bytes, 0, 1);
  }
  for (std::size_t row = 0; row < bitmap.height; ++row) {
    for (std::size_t column = 0; column < stride; ++column) {
      bytes += column < bitmap.width ? static_cast<char>(bitmap.pixels[row * bitmap.width + column])
                                     : '\0';
    }
  }
  return bytes;
}

}  // namespace sing::lab::page
