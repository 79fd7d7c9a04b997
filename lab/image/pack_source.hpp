// Images from a pack file, mapped into memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "lab/image/image_source.hpp"

namespace sing::lab::image {

// Throws FileError for a file that is no pack, is cut short, has another version or a damaged
// index. The images' bytes are not read; check_pack does that.
std::unique_ptr<ImageSource> open_pack(const std::filesystem::path& path);

// Compares every image with its checksum; throws FileError naming the first that differs.
void check_pack(const std::filesystem::path& path);

}  // namespace sing::lab::image
