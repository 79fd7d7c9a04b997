// Files of the safetensors format: eight bytes of header length, the JSON header, the payload.
#include "sing/io/safetensors.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <system_error>

#include "sing/base/message.hpp"
#include "sing/io/atomic_file.hpp"
#include "sing/io/system_file_error.hpp"

namespace sing {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

constexpr std::uint64_t kLengthBytes = sizeof(std::uint64_t);

std::string reason_of(int number) { return std::generic_category().message(number); }

// The parts of a file in their order, checked and ready to be written.
struct FilePieces {
  std::uint64_t header_bytes = 0;
  std::string header;
  std::vector<std::span<const std::byte>> tensors;

  template <class Write>
  void visit(Write write) const {
    write(std::as_bytes(std::span(&header_bytes, 1)));
    write(std::as_bytes(std::span(header)));
    for (const std::span<const std::byte> tensor : tensors) {
      write(tensor);
    }
  }
};

FilePieces make_pieces(const std::map<std::string, std::string>& metadata,
                       std::span<const TensorBytes> tensors) {
  std::vector<const TensorBytes*> ordered;
  ordered.reserve(tensors.size());
  for (const TensorBytes& tensor : tensors) {
    ordered.push_back(&tensor);
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto* a, const auto* b) {
    return size_of(a->entry.dtype) > size_of(b->entry.dtype);
  });
  std::vector<TensorEntry> entries;
  entries.reserve(tensors.size());
  for (const TensorBytes* tensor : ordered) {
    entries.push_back(tensor->entry);
  }
  FilePieces pieces;
  pieces.header = format_safetensors_header(metadata, entries);
  pieces.header_bytes = pieces.header.size();
  for (const TensorBytes& tensor : tensors) {
    SING_CHECK(tensor.data != nullptr || byte_size_of(tensor.entry) == 0U,
               "[safetensors] '{}': wanted its bytes, got a null pointer", tensor.entry.name);
  }

  for (const TensorBytes* tensor : ordered) {
    pieces.tensors.emplace_back(tensor->data, byte_size_of(tensor->entry).value());
  }
  return pieces;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path,
                       const std::map<std::string, std::string>& metadata,
                       std::span<const TensorBytes> tensors) {
  const FilePieces pieces = make_pieces(metadata, tensors);
  AtomicFile file(path);
  pieces.visit([&](std::span<const std::byte> piece) { file.write(piece); });
  file.commit();
}

std::string format_safetensors(const std::map<std::string, std::string>& metadata,
                               std::span<const TensorBytes> tensors) {
  const FilePieces pieces = make_pieces(metadata, tensors);
  std::size_t size = 0;
  pieces.visit([&](std::span<const std::byte> piece) { size += piece.size(); });
  std::string bytes;
  bytes.reserve(size);
  pieces.visit([&](std::span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  return bytes;
}

SafetensorsReader::SafetensorsReader(const std::filesystem::path& path) : path_(path.string()) {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer.
  file_ = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (!file_.is_open() || ::fstat(file_.get(), &status) != 0) {
    const int number = errno;
    throw SystemFileError(
        fmt::format("[safetensors] '{}': cannot open: {}", path_, reason_of(number)), number);
  }
  if (!S_ISREG(status.st_mode)) {
    const bool is_directory = S_ISDIR(status.st_mode);
    throw SystemFileError(fmt::format("[safetensors] '{}': wanted a regular file, got {}", path_,
                                      is_directory ? "a directory" : "another kind"),
                          is_directory ? EISDIR : EINVAL);
  }
  read_header(static_cast<std::uint64_t>(status.st_size));
}

SafetensorsReader::SafetensorsReader(std::span<const std::byte> bytes, std::string name)
    : path_(std::move(name)), memory_(bytes) {
  read_header(bytes.size());
}

void SafetensorsReader::read_header(std::uint64_t file_bytes) {
  if (file_bytes < kLengthBytes) {
    throw FileError(
        fmt::format("[safetensors] '{}': wanted at least 8 bytes, got {}; it is truncated or not a "
                    "safetensors file",
                    path_, file_bytes));
  }
  std::uint64_t header_bytes = 0;
  read_at(0, std::as_writable_bytes(std::span(&header_bytes, 1)));
  const std::uint64_t most = std::min(kMaxHeaderBytes, file_bytes - kLengthBytes);
  if (header_bytes > most) {
    throw FileError(fmt::format(
        "[safetensors] '{}': wanted a header of at most {} bytes, got {} in its first 8 "
        "bytes; it is truncated or not a safetensors file",
        path_, most, header_bytes));
  }
  std::vector<std::byte> json_text(header_bytes);
  read_at(kLengthBytes, json_text);
  payload_begin_ = kLengthBytes + header_bytes;
  header_ = parse_safetensors_header(json_text, file_bytes - payload_begin_, path_);
  for (std::size_t index = 0; index < header_.tensors.size(); ++index) {
    index_of_.emplace(header_.tensors[index].name, index);
  }
}

const TensorEntry* SafetensorsReader::find(std::string_view name) const {
  const auto found = index_of_.find(name);
  return found == index_of_.end() ? nullptr : &header_.tensors[found->second];
}

void SafetensorsReader::read(const TensorEntry& entry, std::byte* destination) const {
  const TensorEntry* const known = find(entry.name);
  SING_CHECK(known != nullptr && *known == entry,
             "[safetensors] '{}': wanted an entry of this file, got '{}'", path_, entry.name);
  const auto index = static_cast<std::size_t>(known - header_.tensors.data());
  read_at(payload_begin_ + header_.offsets[index], {destination, byte_size_of(entry).value()});
}

// The header was checked against the size, so its tensors lie within the bytes.
void SafetensorsReader::read_at(std::uint64_t offset, std::span<std::byte> destination) const {
  if (!file_.is_open()) {
    const auto source = memory_.subspan(offset, destination.size());
    std::copy(source.begin(), source.end(), destination.begin());
    return;
  }
  // One pread() is limited to 2 GiB on Linux.
  constexpr std::size_t kMaxRead = std::size_t{1} << 30;
  while (!destination.empty()) {
    const ssize_t got = ::pread(file_.get(), destination.data(),
                                std::min(destination.size(), kMaxRead), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      const int number = errno;
      throw SystemFileError(fmt::format("[safetensors] '{}': cannot read at byte {}: {}", path_,
                                        offset, reason_of(number)),
                            number);
    }
    if (got == 0) {
      throw FileError(fmt::format(
          "[safetensors] '{}': cannot read at byte {}: the file became shorter", path_, offset));
    }
    destination = destination.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

}  // namespace sing
