// Defines a file of a run that only grows and that a resumed run truncates.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "sing/io/file_descriptor.hpp"

namespace sing::lab::run {

// Used for the measurements and the TensorBoard events of a run.
class AppendedFile {
 public:
  // Keeps the first `keep` bytes, which are those that the checkpoint recorded. This and the
  // functions below throw FileError.
  AppendedFile(std::filesystem::path path, std::uint64_t keep);

  void append(const std::string& bytes);
  // Makes everything written so far survive a crash of the machine.
  void sync();
  std::uint64_t size() const { return size_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  [[noreturn]] void fail(const char* action) const;

  std::filesystem::path path_;
  FileDescriptor file_;
  std::uint64_t size_ = 0;
};

}  // namespace sing::lab::run
