// A file's bytes in memory, read by the system when they are looked at.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace sing::lab::data {

// Throws FileError. A file that another program cuts short while it is mapped ends this one, as
// mappings do.
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
