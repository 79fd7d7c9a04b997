// Reads a file or a folder of files as one text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sing::lab::text {

struct TextFiles {
  std::string text;    // all files, in the order of their paths
  std::string digest;  // SHA-256 of paths and contents, in hexadecimal
  std::int64_t files = 0;
  // Files with a zero byte, which are not text, and entries that are no files, such as FIFOs.
  std::vector<std::filesystem::path> left_out;
};

// Reads a file, or all files below a folder except those whose path has a part that begins with a
// dot. Throws FileError for what cannot be read and std::invalid_argument if there is no text.
TextFiles read_text_files(const std::filesystem::path& path);

}  // namespace sing::lab::text
