// Files of a public data set as their authors published them: found, read and told from others.
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
  const char* name;   // of the task
  const char* title;  // of the data set, with where to get it
  std::span<const OfficialFile> files;
};

// Whether each is there as `folder`/name or `folder`/name.gz.
bool has_files(const OfficialSet& set, const std::filesystem::path& folder);

// Where they are. Throws std::invalid_argument naming every file of the set
// that is not there, where to put it, and what can be done without.
std::vector<std::filesystem::path> find_files(const OfficialSet& set,
                                              const std::filesystem::path& folder);

// The content of a file, unpacked if it is gzip's. Throws FileError, also for more than
// `most_bytes`.
std::vector<std::uint8_t> read_content(const std::filesystem::path& path, std::uint64_t most_bytes);

// What is wrong with a content, or "" where size and SHA-256 are the official ones.
std::string fault_of(const OfficialFile& file, std::span<const std::uint8_t> content);

}  // namespace sing::lab::image
