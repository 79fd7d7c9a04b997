// Encodes JPEG images with libjpeg-turbo.
#include "lab/image/jpeg_encoder.hpp"

#include <cstdlib>

#include "lab/image/jpeg_errors.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::image {
namespace {

struct Compressor {
  jpeg_compress_struct info{};
  JpegErrors errors;
  unsigned char* bytes = nullptr;  // libjpeg allocates this with malloc
  unsigned long size = 0;

  Compressor() = default;
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;
  ~Compressor() {
    jpeg_destroy_compress(&info);
    std::free(bytes);
  }
};

}  // namespace

std::vector<std::byte> encode_jpeg(const ImageView& image, int quality) {
  Compressor compressor;
  jpeg_compress_struct& info = compressor.info;
  info.err = compressor.errors.start();
  if (setjmp(compressor.errors.jump) != 0) {
    throw Error(fmt::format("[jpeg] {}", compressor.errors.message));
  }
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &compressor.bytes, &compressor.size);
  info.image_width = static_cast<JDIMENSION>(image.width);
  info.image_height = static_cast<JDIMENSION>(image.height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(image.row(static_cast<int>(info.next_scanline)));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  const auto* const first = reinterpret_cast<const std::byte*>(compressor.bytes);
  return {first, first + compressor.size};
}

}  // namespace sing::lab::image
