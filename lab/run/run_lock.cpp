// Creates the folders of a run and locks a file in them.
#include "lab/run/run_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "sing/base/message.hpp"

namespace sing::lab::run {
namespace {

void make_folder(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    throw FileError(
        fmt::format("[run] '{}': cannot create the folder: {}", path.string(), error.message()));
  }
}

// The process that holds the lock has written its process ID into it.
std::string owner_of(int lock) {
  char text[32] = {};
  const ssize_t count = ::pread(lock, text, sizeof(text) - 1, 0);
  std::string owner(text, count > 0 ? static_cast<std::size_t>(count) : 0);
  return owner.substr(0, owner.find('\n'));
}

}  // namespace

RunLock::RunLock(const RunDirectory& directory) {
  make_folder(directory.checkpoints());
  make_folder(directory.pictures());
  const std::filesystem::path path = directory.lock();
  file_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file_.is_open()) {
    throw FileError(fmt::format("[run] '{}': cannot open it: {}", path.string(),
                                std::generic_category().message(errno)));
  }
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
    throw FileError(fmt::format(
        "[run] wanted a run directory that no other process uses, got '{}', in use by process {}",
        directory.path().string(), owner_of(file_.get())));
  }
  const std::string owner = fmt::format("{}\n", ::getpid());
  if (::ftruncate(file_.get(), 0) != 0 ||
      ::pwrite(file_.get(), owner.data(), owner.size(), 0) != static_cast<ssize_t>(owner.size())) {
    throw FileError(fmt::format("[run] '{}': cannot write to it: {}", path.string(),
                                std::generic_category().message(errno)));
  }
}

}  // namespace sing::lab::run
