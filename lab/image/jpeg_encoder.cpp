// Encodes JPEG images with libjpeg-turbo.
#include "lab/image/jpeg_encoder.hpp"

#include <cstdlib>

#include "lab/image/jpeg_errors.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::image {
namespace {

struct Encoding {
  jpeg_compress_struct info{};
  JpegErrors errors;
  unsigned char* bytes = nullptr;  // libjpeg allocates this with malloc
  unsigned long size = 0;

  Encoding() = default;
  Encoding(const Encoding&) = delete;
  Encoding& operator=(const Encoding&) = delete;
  ~Encoding() {
    jpeg_destroy_compress(&info);
    std::free(bytes);
  }
};

}  // namespace

std::vector<std::byte> encode_jpeg(const ImageView& image, int quality) {
  Encoding encoding;
  jpeg_compress_struct& info = encoding.info;
  info.err = encoding.errors.start();
  if (setjmp(encoding.errors.jump) != 0) {
    throw Error(fmt::format("[jpeg] {}", encoding.errors.message));
  }
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &encoding.bytes, &encoding.size);
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
  const auto* const first = reinterpret_cast<const std::byte*>(encoding.bytes);
  return {first, first + encoding.size};
}

}  // namespace sing::lab::image
