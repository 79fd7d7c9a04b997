// Opens files of a data set for reading.
#pragma once

#include <filesystem>
#include <fstream>

namespace sing::lab::data {

// Returns a failed stream for anything but a regular file that can be read. Opening a FIFO would
// wait for a writer, and a folder would read like an empty file.
inline std::ifstream open_file(const std::filesystem::path& path) {
  std::ifstream stream;
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error)) {
    stream.open(path, std::ios::binary);
  } else {
    stream.setstate(std::ios::failbit);
  }
  return stream;
}

}  // namespace sing::lab::data
