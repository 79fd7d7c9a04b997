// Replaces a file as a whole: a reader, a crash or a kill sees the old content or the new one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "sing/base/error.hpp"
#include "sing/io/file_descriptor.hpp"

namespace sing {

// Writes to a temporary file in the same directory; commit() gives it the final name. Without
// commit() the temporary file is removed and the old file is untouched. A process killed before
// commit() leaves `<name>.<process>-<count>.tmp`, which nothing reads. Errors are FileError.
class AtomicFile {
 public:
  // A symbolic link is followed: the file it points to is replaced, the link stays.
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);

  // fsync of the file, rename, fsync of the directory: afterwards the content survives power loss.
  void commit();

 private:
  [[noreturn]] void fail(const char* action) const;

  std::filesystem::path path_;
  std::string temporary_name_;  // empty: nothing to remove
  FileDescriptor directory_;
  FileDescriptor file_;
};

}  // namespace sing
