// Defines a picture in memory, as RGB bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sing::lab::picture {

using Color = std::array<std::uint8_t, 3>;

class Picture {
 public:
  Picture(int width, int height, Color color)
      : width_(width),
        height_(height),
        bytes_(std::size_t{3} * static_cast<std::size_t>(width) *
               static_cast<std::size_t>(height)) {
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        set(x, y, color);
      }
    }
  }

  int width() const { return width_; }
  int height() const { return height_; }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }  // row by row, 3 per pixel

  void set(int x, int y, Color color) {
    std::copy(color.begin(), color.end(), bytes_.begin() + 3 * (std::ptrdiff_t{y} * width_ + x));
  }

 private:
  int width_;
  int height_;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace sing::lab::picture
