// Writes an image folder into one file that training maps into memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "lab/image/image_folder.hpp"
#include "sing/base/fields.hpp"

namespace sing::lab::image {

struct PackOptions {
  Encoding format = Encoding::kJpeg;
  std::int64_t longest_side = 400;
  std::int64_t quality = 90;
  BadImages bad_images = BadImages::kRefuse;

  static constexpr auto fields() {
    using P = PackOptions;
    return std::tuple{
        field("format", &P::format,
              "jpeg: files that are small enough are copied; raw: pixels, which are the fastest to "
              "read"),
        field("longest_side", &P::longest_side,
              "largest length of the longer side in pixels; larger images are shrunk to it; 0: "
              "none is shrunk",
              between(0, 65535)),
        field("quality", &P::quality, "JPEG quality of images that are not copied",
              between(1, 100)),
        field("bad_images", &P::bad_images,
              "refuse or skip files that are not complete JPEG or PNG images; each is named")};
  }
};

struct PackSummary {
  std::size_t images = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> skipped;  // one message for each image left out
};

// Replaces `out` atomically. The bytes do not depend on the number of threads. On failure throws
// FileError and leaves an old file untouched. BadImages::kRefuse finds all bad images before it
// throws.
PackSummary write_pack(const ImageFolder& folder, const PackOptions& options, int threads,
                       const std::filesystem::path& out);

}  // namespace sing::lab::image
