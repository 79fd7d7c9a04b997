// A file of a run that only grows, and that a resumed run cuts back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "sing/io/file_descriptor.hpp"

namespace sing::lab::run {

// The measurements and the TensorBoard events of a run.
class AppendedFile {
 public:
  // Keeps the first `keep` bytes of what is there: all that a checkpoint knew of. Throws
  // FileError, here as below.
  AppendedFile(std::filesystem::path path, std::uint64_t keep);

  void append(const std::string& bytes);
  // What is in the file so far survives a crash of the machine.
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
