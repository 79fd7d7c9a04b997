// Reads whole files, plain or packed by gzip.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace sing::lab::data {

// Returns the content of a file, decompressed if it is gzip. Throws FileError, also if the content
// has more than `most_bytes`.
std::vector<std::uint8_t> read_packed(const std::filesystem::path& path, std::uint64_t most_bytes);

}  // namespace sing::lab::data
