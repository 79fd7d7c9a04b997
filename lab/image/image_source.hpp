// Declares the interface to stored images, their labels and their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lab/data/split.hpp"
#include "lab/image/rgb_image.hpp"
#include "sing/base/enum_names.hpp"

namespace sing::lab::image {

using data::Split;

enum class Encoding : std::uint32_t { kJpeg, kRaw };

constexpr auto enum_names(Encoding) {
  return std::to_array<EnumName<Encoding>>({{Encoding::kJpeg, "jpeg"}, {Encoding::kRaw, "raw"}});
}

// The bytes of a file with kJpeg may also be a PNG file, which its first bytes tell.
struct StoredImage {
  std::span<const std::byte> bytes;
  Encoding encoding = Encoding::kJpeg;
  ImageSize size;  // for raw pixels; a file contains its own size
};

// All functions may be called from several threads.
class ImageSource {
 public:
  virtual ~ImageSource() = default;

  virtual const std::vector<std::string>& classes() const = 0;
  virtual std::size_t count(Split subset) const = 0;
  virtual std::uint32_t label(Split subset, std::size_t index) const = 0;
  virtual std::string name(Split subset, std::size_t index) const = 0;  // for messages
  // The bytes may lie in `buffer`, which the caller owns. Throws FileError.
  virtual StoredImage fetch(Split subset, std::size_t index,
                            std::vector<std::byte>& buffer) const = 0;
  // Identifies the image data, in hexadecimal; "" for generated images.
  virtual std::string digest() const { return {}; }
};

}  // namespace sing::lab::image
