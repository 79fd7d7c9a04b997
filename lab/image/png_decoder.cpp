// Decodes PNG images with libpng's simplified interface, which reports errors without longjmp.
#include "lab/image/png_decoder.hpp"

#include <png.h>

#include <cstring>
#include <vector>

#include "sing/base/message.hpp"

namespace sing::lab::image {
namespace {

constexpr std::size_t kSignatureBytes = 8;

[[noreturn]] void fail(std::string_view name, png_image& image) {
  const std::string reason = image.message;
  png_image_free(&image);
  throw FileError(fmt::format("[png] '{}': {}", name, reason));
}

}  // namespace

bool is_png(std::span<const std::byte> bytes) {
  return bytes.size() >= kSignatureBytes &&
         png_sig_cmp(reinterpret_cast<png_const_bytep>(bytes.data()), 0, kSignatureBytes) == 0;
}

ImageSize decode_png(std::span<const std::byte> bytes, std::string_view name, RgbImage& image) {
  png_image reader;
  std::memset(&reader, 0, sizeof(reader));
  reader.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&reader, bytes.data(), bytes.size()) == 0) {
    fail(name, reader);
  }
  const ImageSize size{static_cast<int>(reader.width), static_cast<int>(reader.height)};
  if (std::int64_t{size.width} * size.height > kMostPixels) {
    png_image_free(&reader);
    throw FileError(fmt::format("[png] '{}': wanted at most {} pixels, got {} × {}", name,
                                kMostPixels, size.width, size.height));
  }
  // Without alpha in the format, libpng would blend the image with a background.
  reader.format = PNG_FORMAT_RGBA;
  std::vector<png_byte> pixels(PNG_IMAGE_SIZE(reader));
  if (png_image_finish_read(&reader, nullptr, pixels.data(), 0, nullptr) == 0) {
    fail(name, reader);
  }
  image.set_size(size.width, size.height);
  for (std::size_t pixel = 0; pixel < pixels.size() / 4; ++pixel) {
    std::memcpy(&image.bytes[3 * pixel], &pixels[4 * pixel], 3);
  }
  return size;
}

}  // namespace sing::lab::image
