// Writes pictures as PNG files.
#pragma once

#include <filesystem>

#include "lab/picture/picture.hpp"

namespace sing::lab::picture {

// Replaces `path` atomically. On failure throws FileError and leaves an old file untouched.
void write_png(const std::filesystem::path& path, const Picture& picture);

}  // namespace sing::lab::picture
