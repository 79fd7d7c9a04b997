// Finds, reads and verifies the files of a public data set as their authors published them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace sing::lab::image {

struct OfficialFile {
  const char* name;
  std::uint64_t bytes;
  const char* sha256;
};

struct OfficialSet {
  const char* name;   // name of the task
  const char* title;  // name of the data set and where to get it
  std::span<const OfficialFile> files;
};

// Returns whether each file exists as `folder`/name or `folder`/name.gz.
bool has_files(const OfficialSet& set, const std::filesystem::path& folder);

// Returns the paths of the files. Throws std::invalid_argument that names every missing file and
// says where to put it and what works without the files.
std::vector<std::filesystem::path> find_files(const OfficialSet& set,
                                              const std::filesystem::path& folder);

// Describes how the content differs from the official size or SHA-256; "" if both match.
std::string fault_of(const OfficialFile& file, std::span<const std::uint8_t> content);

}  // namespace sing::lab::image
