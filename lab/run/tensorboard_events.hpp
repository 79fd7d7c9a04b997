// Writes scalars to TensorBoard's event files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/run/appended_file.hpp"

namespace sing::lab::run {

using Scalars = std::vector<std::pair<std::string, double>>;  // tag, value

class TensorboardEvents {
 public:
  // Writes the record with the format version if the file is empty.
  TensorboardEvents(const std::filesystem::path& path, std::uint64_t keep);

  // Writes all values as one event of that step, with the current wall time.
  void write(std::int64_t step, const Scalars& scalars);

  AppendedFile& file() { return file_; }

 private:
  AppendedFile file_;
};

// CRC-32C (Castagnoli), reflected, as in RFC 3720.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace sing::lab::run
