// Maps a file into memory; the system reads its bytes on first access.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace sing::lab::data {

// Throws FileError. If another program truncates the file while it is mapped, reading the missing
// part ends this program, as with any mapping.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::span<const std::byte> bytes_;
};

}  // namespace sing::lab::data
