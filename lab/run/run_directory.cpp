// Makes a run's folders and locks them.
#include "lab/run/run_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

#include "sing/base/message.hpp"

namespace sing::lab::run {
namespace {

constexpr const char* kEventsPrefix = "events.out.tfevents.";

void make_folder(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    throw FileError(
        fmt::format("[run] '{}': cannot make the folder: {}", path.string(), error.message()));
  }
}

// The process that holds the lock wrote its number into it.
std::string owner_of(int lock) {
  char text[32] = {};
  const ssize_t count = ::pread(lock, text, sizeof(text) - 1, 0);
  std::string owner(text, count > 0 ? static_cast<std::size_t>(count) : 0);
  return owner.substr(0, owner.find('\n'));
}

}  // namespace

RunDirectory::RunDirectory(std::filesystem::path path) : path_(std::move(path)) {
  make_folder(path_ / "checkpoints");
  make_folder(path_ / "pictures");
  const std::filesystem::path file = path_ / "lock";
  lock_ = FileDescriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!lock_.is_open()) {
    throw FileError(fmt::format("[run] '{}': cannot open it: {}", file.string(),
                                std::generic_category().message(errno)));
  }
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    throw FileError(fmt::format(
        "[run] wanted a run directory that no other process uses, '{}' is in use by process {}",
        path_.string(), owner_of(lock_.get())));
  }
  const std::string owner = std::to_string(::getpid()) + "\n";
  if (::ftruncate(lock_.get(), 0) != 0 ||
      ::pwrite(lock_.get(), owner.data(), owner.size(), 0) != static_cast<ssize_t>(owner.size())) {
    throw FileError(fmt::format("[run] '{}': cannot write to it: {}", file.string(),
                                std::generic_category().message(errno)));
  }
}

std::filesystem::path RunDirectory::events() const {
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    if (entry.path().filename().string().starts_with(kEventsPrefix)) {
      return entry.path();
    }
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return path_ / fmt::format("{}{}.sing", kEventsPrefix, seconds.count());
}

std::filesystem::path RunDirectory::picture(std::int64_t step) const {
  char name[32];
  std::snprintf(name, sizeof(name), "step_%08lld.png", static_cast<long long>(step));
  return path_ / "pictures" / name;
}

}  // namespace sing::lab::run
