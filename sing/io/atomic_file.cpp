// AtomicFile's system calls, all relative to one open directory.
#include "sing/io/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <system_error>

#include "sing/base/message.hpp"

namespace sing {
namespace {

constexpr int kMaxLinks = 40;                            // the limit of Linux
constexpr std::size_t kMaxWrite = std::size_t{1} << 30;  // one write() is limited to 2 GiB on Linux

std::filesystem::path follow_links(const std::filesystem::path& path) {
  std::filesystem::path target = path;
  std::error_code error;
  for (int links = 0; std::filesystem::is_symlink(target, error); ++links) {
    if (links == kMaxLinks) {
      throw FileError(fmt::format("[atomic_file] '{}': wanted at most {} symbolic links, got more",
                                  path.string(), kMaxLinks));
    }
    target = target.parent_path() / std::filesystem::read_symlink(target, error);
    if (error) {
      throw FileError(fmt::format("[atomic_file] '{}': {}", path.string(), error.message()));
    }
  }
  return target;
}

// Renaming over a device or a directory would destroy it or fail late.
void expect_replaceable(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw FileError(
        fmt::format("[atomic_file] '{}': wanted a regular file or none, got {}", path.string(),
                    std::filesystem::is_directory(status) ? "a directory" : "another kind"));
  }
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(follow_links(path)) {
  expect_replaceable(path_);
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
  directory_ = FileDescriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory_.is_open()) {
    fail("cannot open its directory");
  }
  // The counter distinguishes threads; O_EXCL avoids the files of other processes and leftovers.
  static std::atomic<std::uint64_t> count = 0;
  do {
    temporary_name_ = fmt::format("{}.{}-{}.tmp", path_.filename().string(), ::getpid(), count++);
    file_ = FileDescriptor(::openat(directory_.get(), temporary_name_.c_str(),
                                    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  } while (!file_.is_open() && errno == EEXIST);
  if (!file_.is_open()) {
    temporary_name_.clear();
    fail("cannot create a temporary file beside it");
  }
}

AtomicFile::~AtomicFile() {
  if (!temporary_name_.empty()) {
    ::unlinkat(directory_.get(), temporary_name_.c_str(), 0);
  }
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), std::min(bytes.size(), kMaxWrite));
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      fail("cannot write");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  if (::fsync(file_.get()) != 0 || !file_.close()) {
    fail("cannot write to the disk");
  }
  const int directory = directory_.get();
  if (::renameat(directory, temporary_name_.c_str(), directory, path_.filename().c_str()) != 0) {
    fail("cannot replace");
  }
  temporary_name_.clear();
  // Some file systems cannot sync a directory and return EINVAL.
  if (::fsync(directory) != 0 && errno != EINVAL) {
    fail("replaced, but cannot write its directory to the disk");
  }
}

void AtomicFile::fail(const char* action) const {
  const std::string reason = std::generic_category().message(errno);
  throw FileError(fmt::format("[atomic_file] '{}': {}: {}", path_.string(), action, reason));
}

}  // namespace sing
