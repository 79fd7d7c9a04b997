// Decodes JPEG images, or the part of one that is wanted at the size that is wanted.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "lab/image/rgb_image.hpp"

namespace sing::lab::image {

// A part of an image as decoded at eighths/8 of its size: `image` holds that whole picture's pixels
// from (left, top) on.
struct DecodedPart {
  RgbImage image;
  int left = 0;
  int top = 0;
  int eighths = 8;
};

// Memory kept from image to image. One thread at a time. Every function throws FileError naming
// the image for bytes that are no JPEG, are cut short or damaged, or hold more than
// 178 956 970 pixels (Pillow's limit); the decoder can then go on with another image.
//
// Grey images become red = green = blue. CMYK ones are taken as Adobe writes them and converted as
// Pillow does.
class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // Reads the header. The bytes must stay until the image is decoded.
  ImageSize open(std::span<const std::byte> bytes, std::string_view name);
  // Of the image that is open.
  bool is_cmyk() const;

  // The least of 1, 2, 4 and 8 eighths at which a box of the image that is open still has the size
  // wanted on both axes. Twice that where colours are halved on one axis only: at a smaller scale
  // libjpeg halves them again.
  int enough_eighths(const Box& box, ImageSize wanted) const;

  // Each once after open(): all pixels, or those of the box (inside the image) and a few around it
  // at eighths/8 of their size, eighths being 1, 2, 4 or 8. Rows outside are not converted, those
  // below not even read.
  void decode(RgbImage& image);
  void decode(const Box& box, int eighths, DecodedPart& part);

  // Reads all of the image that is open and keeps nothing.
  void check();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sing::lab::image
