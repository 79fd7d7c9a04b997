// Defines a picture in memory, as RGB bytes, into which smaller pictures can be pasted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sing::lab::picture {

using Color = std::array<std::uint8_t, 3>;

class Picture {
 public:
  Picture(int width, int height, Color color)
      : width_(width), height_(height), bytes_(3 * static_cast<std::size_t>(width * height)) {
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        set(x, y, color);
      }
    }
  }

  int width() const { return width_; }
  int height() const { return height_; }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }  // row by row, 3 per pixel

  Color get(int x, int y) const {
    const std::size_t at = place(x, y);
    return {bytes_[at], bytes_[at + 1], bytes_[at + 2]};
  }
  void set(int x, int y, Color color) {
    const std::size_t at = place(x, y);
    bytes_[at] = color[0];
    bytes_[at + 1] = color[1];
    bytes_[at + 2] = color[2];
  }

 private:
  std::size_t place(int x, int y) const { return 3 * static_cast<std::size_t>(y * width_ + x); }

  int width_;
  int height_;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace sing::lab::picture
