// Wraps the system calls for a growing file.
#include "lab/run/appended_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "sing/base/message.hpp"

namespace sing::lab::run {

AppendedFile::AppendedFile(std::filesystem::path path, std::uint64_t keep)
    : path_(std::move(path)) {
  file_ = FileDescriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file_.is_open()) {
    fail("cannot open it");
  }
  struct stat status{};
  if (::fstat(file_.get(), &status) != 0) {
    fail("cannot read its size");
  }
  if (!S_ISREG(status.st_mode)) {
    return;  // a device cannot be truncated
  }
  size_ = std::min(keep, static_cast<std::uint64_t>(status.st_size));
  if (::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0) {
    fail("cannot truncate it");
  }
}

void AppendedFile::append(const std::string& bytes) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count = ::write(file_.get(), bytes.data() + written, bytes.size() - written);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      fail("cannot write to it");
    }
    written += static_cast<std::size_t>(count);
  }
  size_ += bytes.size();
}

void AppendedFile::sync() {
  if (::fdatasync(file_.get()) != 0 && errno != EINVAL) {
    fail("cannot write it to the disk");
  }
}

void AppendedFile::fail(const char* action) const {
  throw FileError(fmt::format("[run] '{}': {}: {}", path_.string(), action,
                              std::generic_category().message(errno)));
}

}  // namespace sing::lab::run
