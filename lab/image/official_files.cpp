// Finds and checks the official files of a data set.
#include "lab/image/official_files.hpp"

#include <algorithm>

#include "lab/data/sha256.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::image {

namespace {

// Returns an empty path if neither file exists.
std::filesystem::path plain_or_packed(const std::filesystem::path& plain) {
  std::error_code error;
  const std::filesystem::path packed = plain.string() + ".gz";
  if (std::filesystem::exists(plain, error)) {
    return plain;
  }
  return std::filesystem::exists(packed, error) ? packed : std::filesystem::path();
}

}  // namespace

bool has_files(const OfficialSet& set, const std::filesystem::path& folder) {
  return std::all_of(set.files.begin(), set.files.end(), [&](const OfficialFile& file) {
    return !plain_or_packed(folder / file.name).empty();
  });
}

std::vector<std::filesystem::path> find_files(const OfficialSet& set,
                                              const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  std::string missing;
  for (const OfficialFile& file : set.files) {
    found.push_back(plain_or_packed(folder / file.name));
    if (found.back().empty()) {
      missing += (missing.empty() ? "" : ", ") + std::string(file.name);
    }
  }
  SING_CHECK(missing.empty(),
             "[{}] wanted {} in '{}' (--data FOLDER), got none. They belong to {}; `sing data {} "
             "--from FOLDER` checks them. Without files: --stand-in trains on generated patterns, "
             "and the task rde needs none.",
             set.name, missing, folder.string(), set.title, set.name);
  return found;
}

std::string fault_of(const OfficialFile& file, std::span<const std::uint8_t> content) {
  if (content.size() != file.bytes) {
    return fmt::format("wanted {} bytes, got {}", file.bytes, content.size());
  }
  const std::string found = data::hexadecimal(data::sha256(std::as_bytes(content)));
  return found == file.sha256 ? "" : fmt::format("wanted SHA-256 {}, got {}", file.sha256, found);
}

}  // namespace sing::lab::image
