// Decodes JPEG images, in whole or only the part and scale that is needed.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "lab/image/rgb_image.hpp"

namespace sing::lab::image {

// A part of an image decoded at eighths/8 of its size. `image` holds the pixels of the scaled image
// from (left, top) on.
struct DecodedPart {
  RgbImage image;
  int left = 0;
  int top = 0;
  int eighths = 8;
};

// Reuses its memory between images; only one thread may use it at a time. Every function throws
// FileError that names the image if the bytes are not a JPEG, are truncated or corrupt, or hold
// more than kMostPixels. The decoder can then decode another image.
//
// Gray images become red = green = blue. CMYK images are read in Adobe's convention and converted
// as Pillow does.
class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // Reads the header. The bytes must stay valid until the image is decoded.
  ImageSize open(std::span<const std::byte> bytes, std::string_view name);
  // Returns whether the open image is CMYK.
  bool is_cmyk() const;

  // Returns the least of 1, 2, 4 and 8 eighths at which a box of the open image still has the
  // wanted size on both axes. The result is doubled if the color planes are subsampled on one axis
  // only, because libjpeg subsamples them again at a smaller scale.
  int enough_eighths(const Box& box, ImageSize wanted) const;

  // Call one of these once after open(). The first decodes all pixels; the second decodes the box
  // (inside the image) and a small margin at eighths/8 of their size, where eighths is 1, 2, 4 or
  // 8. Rows outside the box are not converted, and rows below it are not read.
  void decode(RgbImage& image);
  void decode(const Box& box, int eighths, DecodedPart& part);

  // Decodes the whole open image and discards the pixels.
  void check();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sing::lab::image
