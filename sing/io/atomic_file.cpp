// AtomicFile's system calls, all relative to one open directory.
#include "sing/io/atomic_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <system_error>

#include "sing/base/message.hpp"
#include "sing/io/system_file_error.hpp"

namespace sing {
namespace {

constexpr int kMaxLinks = 40;                            // the limit of Linux
constexpr mode_t kPermissions = 0777;                    // without set-user-ID and the like
constexpr std::size_t kMaxWrite = std::size_t{1} << 30;  // one write() is limited to 2 GiB on Linux

std::filesystem::path follow_links(const std::filesystem::path& path) {
  std::filesystem::path target = path;
  std::error_code error;
  for (int links = 0; std::filesystem::is_symlink(target, error); ++links) {
    if (links == kMaxLinks) {
      throw SystemFileError(
          fmt::format("[atomic_file] '{}': wanted at most {} symbolic links, got more",
                      path.string(), kMaxLinks),
          ELOOP);
    }
    target = target.parent_path() / std::filesystem::read_symlink(target, error);
    if (error) {
      throw SystemFileError(fmt::format("[atomic_file] '{}': {}", path.string(), error.message()),
                            error.value());
    }
  }
  return target;
}

// Returns the mode of the file at `path`, or none without a file. Renaming over a device or a
// directory would destroy it or fail late.
std::optional<mode_t> mode_of_replaced(const std::filesystem::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    return std::nullopt;
  }
  if (!S_ISREG(status.st_mode)) {
    const bool is_directory = S_ISDIR(status.st_mode);
    throw SystemFileError(fmt::format("[atomic_file] '{}': wanted a regular file or none, got {}",
                                      path.string(), is_directory ? "a directory" : "another kind"),
                          is_directory ? EISDIR : EINVAL);
  }
  return status.st_mode & kPermissions;
}

// Returns whether `name` is `<target>.<process>-<count>.tmp`.
bool is_temporary_name(std::string_view name, std::string_view target) {
  const auto skip_digits = [&] {
    const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    name.remove_prefix(digits);
    return digits > 0;
  };
  const auto skip = [&](std::string_view text) {
    const bool found = name.starts_with(text);
    name.remove_prefix(found ? text.size() : 0);
    return found;
  };
  return skip(target) && skip(".") && skip_digits() && skip("-") && skip_digits() && name == ".tmp";
}

// Locks a file that this process has just created. Returns false if another process took it for a
// leftover before. Where the file system has no locks, no process removes leftovers.
bool lock_created(int file) {
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    return errno != EWOULDBLOCK;
  }
  struct stat status{};
  return ::fstat(file, &status) == 0 && status.st_nlink > 0;
}

// Removes a temporary file whose writer was killed. A writer locks its file until it has renamed
// or removed it, and the lock of a process ends with the process.
void remove_leftover(int directory, const char* name) {
  const FileDescriptor file(
      ::openat(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat opened{};
  struct stat named{};
  if (file.is_open() && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 &&
      ::fstat(file.get(), &opened) == 0 && S_ISREG(opened.st_mode) &&
      // The writer may have renamed the file before it was locked here, and a process with the same
      // number in another container may use the name again.
      ::fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
      named.st_dev == opened.st_dev && named.st_ino == opened.st_ino) {
    ::unlinkat(directory, name, 0);
  }
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path)
    : path_(follow_links(path)), mode_(mode_of_replaced(path_)) {
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
  directory_ = FileDescriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory_.is_open()) {
    fail("cannot open its directory");
  }
  remove_leftovers(folder);
  // The counter distinguishes threads; O_EXCL avoids the files of other processes and leftovers.
  static std::atomic<std::uint64_t> count = 0;
  do {
    temporary_name_ = fmt::format("{}.{}-{}.tmp", path_.filename().string(), ::getpid(), count++);
    // A file that is replaced may be private.
    file_ = FileDescriptor(::openat(directory_.get(), temporary_name_.c_str(),
                                    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_ ? 0600 : 0666));
  } while (file_.is_open() ? !lock_created(file_.get()) : errno == EEXIST);
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

void AtomicFile::remove_leftovers(const std::filesystem::path& folder) const {
  const std::string target = path_.filename().string();
  std::error_code error;  // A folder that cannot be listed keeps its leftovers.
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (is_temporary_name(name, target)) {
      remove_leftover(directory_.get(), name.c_str());
    }
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
  struct stat status{};
  if (mode_ && (::fstat(file_.get(), &status) != 0 || ((status.st_mode & kPermissions) != *mode_ &&
                                                       ::fchmod(file_.get(), *mode_) != 0))) {
    fail("cannot set the mode of the file that it replaces");
  }
  if (::fsync(file_.get()) != 0) {
    fail("cannot write to the disk");
  }
  const int directory = directory_.get();
  if (::renameat(directory, temporary_name_.c_str(), directory, path_.filename().c_str()) != 0) {
    fail("cannot replace");
  }
  temporary_name_.clear();
  // Closed only after the rename: an unlocked file with a temporary name would be a leftover. Some
  // file systems cannot sync a directory and return EINVAL.
  if (!file_.close() || (::fsync(directory) != 0 && errno != EINVAL)) {
    fail("replaced, but cannot write its directory to the disk");
  }
}

void AtomicFile::fail(const char* action) const {
  const int number = errno;
  const std::string reason = std::generic_category().message(number);
  throw SystemFileError(fmt::format("[atomic_file] '{}': {}: {}", path_.string(), action, reason),
                        number);
}

void replace_file(const std::filesystem::path& path, std::span<const std::byte> content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace sing
