// Maps a file into memory.
#include "lab/data/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "sing/base/message.hpp"
#include "sing/io/file_descriptor.hpp"

namespace sing::lab::data {

MappedFile::MappedFile(const std::filesystem::path& path) : name_(path.string()) {
  const auto fail = [&](const char* action) {
    throw FileError(
        fmt::format("[images] '{}': cannot {}: {}", name_, action, std::strerror(errno)));
  };
  // O_NONBLOCK, because opening a FIFO would otherwise wait for a writer.
  const FileDescriptor file(::open(name_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) {
    fail("open it");
  }
  if (!S_ISREG(status.st_mode)) {
    throw FileError(fmt::format("[images] '{}': wanted a regular file, got something else", name_));
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) {
    return;
  }
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) {
    fail("map it");
  }
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) {
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
}

}  // namespace sing::lab::data
