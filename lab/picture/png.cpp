// Writes PNG files with libpng's simplified interface, which reports errors without longjmp.
#include "lab/picture/png.hpp"

#include <png.h>

#include <cstring>
#include <span>
#include <string>

#include "sing/base/message.hpp"
#include "sing/io/atomic_file.hpp"

namespace sing::lab::picture {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, png_image& image) {
  const std::string reason = image.message;
  png_image_free(&image);
  throw FileError(fmt::format("[png] '{}': {}", path.string(), reason));
}

}  // namespace

void check_png_name(const std::filesystem::path& path, std::string_view flag) {
  SING_CHECK(path.extension() == ".png", "[{}] wanted a file name that ends in .png, got '{}'",
             flag, path.string());
}

void write_png(const std::filesystem::path& path, const Picture& picture) {
  png_image image;
  std::memset(&image, 0, sizeof(image));
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width());
  image.height = static_cast<png_uint_32>(picture.height());
  image.format = PNG_FORMAT_RGB;
  std::vector<std::byte> bytes(PNG_IMAGE_PNG_SIZE_MAX(image));
  png_alloc_size_t size = bytes.size();
  const void* const pixels = picture.bytes().data();
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels, 0, nullptr) == 0) {
    fail(path, image);
  }
  replace_file(path, std::span(bytes).first(size));
}

}  // namespace sing::lab::picture
