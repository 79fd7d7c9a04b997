// Defines an RGB image in memory and a view of a part of one, as bytes in row order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sing::lab::image {

// Files with more pixels are refused; this is Pillow's limit.
inline constexpr std::int64_t kMostPixels = 178'956'970;

struct ImageSize {
  int width = 0;
  int height = 0;

  bool operator==(const ImageSize&) const = default;
};

// A rectangle of whole pixels of an image.
struct Box {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;

  bool operator==(const Box&) const = default;
};

struct ImageView {
  const std::uint8_t* pixels = nullptr;  // the first row
  int width = 0;
  int height = 0;
  std::ptrdiff_t row_bytes = 0;  // distance between rows

  const std::uint8_t* row(int y) const { return pixels + y * row_bytes; }
  ImageView part(const Box& box) const {
    return {row(box.y) + std::ptrdiff_t{3} * box.x, box.width, box.height, row_bytes};
  }
};

struct RgbImage {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> bytes;  // 3 · width · height

  void set_size(int new_width, int new_height) {
    width = new_width;
    height = new_height;
    bytes.resize(std::size_t{3} * static_cast<std::size_t>(width) *
                 static_cast<std::size_t>(height));
  }
  ImageView view() const { return {bytes.data(), width, height, std::ptrdiff_t{3} * width}; }
};

}  // namespace sing::lab::image
