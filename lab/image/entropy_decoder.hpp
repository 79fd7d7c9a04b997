// Reads the Huffman codes of a JPEG file in libjpeg's place, in less than half of its time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
//
#include <jpeglib.h>

namespace sing::lab::image {

// libjpeg looks a code up, then takes the bits of its value; here one look gives both, and in what
// is not wanted several codes. All else (what coefficients are turned into, and what is said about
// damaged files) stays libjpeg's, and so do the pixels.
class EntropyDecoder {
 public:
  EntropyDecoder();
  ~EntropyDecoder();
  EntropyDecoder(const EntropyDecoder&) = delete;
  EntropyDecoder& operator=(const EntropyDecoder&) = delete;

  // Between jpeg_start_decompress and the first row, for an image whose bytes are all in memory,
  // that is shown at eighths of its size and left by jpeg_abort_decompress. Only pixels of columns
  // [left, right) are wanted. Leaves to libjpeg what is not the usual kind of file: several scans,
  // restarts, arithmetic codes. Must stay until the image is left.
  void take_over(jpeg_decompress_struct& info, int left, int right);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sing::lab::image
