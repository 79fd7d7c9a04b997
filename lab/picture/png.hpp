// Writes pictures as PNG files.
#pragma once

#include <filesystem>
#include <string_view>

#include "lab/picture/picture.hpp"

namespace sing::lab::picture {

// Throws std::invalid_argument for a file name that does not end in .png; `flag` gave it.
void check_png_name(const std::filesystem::path& path, std::string_view flag);

// Replaces `path` atomically. On failure throws FileError and leaves an old file untouched.
void write_png(const std::filesystem::path& path, const Picture& picture);

}  // namespace sing::lab::picture
