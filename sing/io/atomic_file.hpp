// Replaces a file as a whole: after a crash, and for every reader, it has the old or the new
// content.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sing/base/error.hpp"
#include "sing/io/file_descriptor.hpp"

namespace sing {

// Writes to a temporary file in the same directory, which commit() renames to the final name.
// Without commit() the temporary file is removed and the old file does not change. A process that
// is killed before commit() leaves `<name>.<process>-<count>.tmp`, which the next AtomicFile for
// the same path removes. A replaced file keeps its permissions. Errors throw FileError.
class AtomicFile {
 public:
  // A symbolic link is followed: the file it points to is replaced, the link stays.
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);

  // Syncs the file, renames it and syncs the directory. The content then survives a power loss.
  void commit();

 private:
  void remove_leftovers(const std::filesystem::path& folder) const;
  [[noreturn]] void fail(const char* action) const;

  std::filesystem::path path_;
  std::optional<mode_t> mode_;  // that of the replaced file
  std::string temporary_name_;  // empty if there is no file to remove
  FileDescriptor directory_;
  FileDescriptor file_;
};

// Writes and commits an AtomicFile with this content.
void replace_file(const std::filesystem::path& path, std::span<const std::byte> content);
inline void replace_file(const std::filesystem::path& path, std::string_view text) {
  replace_file(path, std::as_bytes(std::span(text)));
}

}  // namespace sing
