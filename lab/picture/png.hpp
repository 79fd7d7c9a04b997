// Writes pictures as PNG files.
#pragma once

#include <filesystem>

#include "lab/picture/picture.hpp"

namespace sing::lab::picture {

// Replaces `path` as a whole; throws FileError, and then an old file is untouched.
void write_png(const std::filesystem::path& path, const Picture& picture);

}  // namespace sing::lab::picture
