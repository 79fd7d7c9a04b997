// Owns an open POSIX file descriptor and closes it.
#pragma once

#include <unistd.h>

#include <utility>

namespace sing {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int value) : value_(value) {}
  FileDescriptor(FileDescriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~FileDescriptor() { close(); }

  bool is_open() const { return value_ >= 0; }
  int get() const { return value_; }

  // Returns false, with errno set, if the system reports a delayed write error.
  bool close() { return !is_open() || ::close(std::exchange(value_, -1)) == 0; }

 private:
  int value_ = -1;
};

}  // namespace sing
