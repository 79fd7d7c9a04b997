// Reads and writes safetensors files: named tensors and a map of strings, shared with Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sing/io/file_descriptor.hpp"
#include "sing/io/safetensors_header.hpp"

namespace sing {

struct TensorBytes {
  TensorEntry entry;
  const std::byte* data;  // host memory, byte_size_of(entry) bytes
};

// Replaces `path` as a whole (atomic_file.hpp). Throws std::invalid_argument for an error of the
// caller and FileError for one of the system, and leaves the old file as it is. Tensors with wider
// elements come first in the file, so that each one is aligned for readers that map the file.
void write_safetensors(const std::filesystem::path& path,
                       const std::map<std::string, std::string>& metadata,
                       std::span<const TensorBytes> tensors);

// The bytes of the file that write_safetensors() would write.
std::string format_safetensors(const std::map<std::string, std::string>& metadata,
                               std::span<const TensorBytes> tensors);

// Checks the whole header when it is created, and reads a tensor's bytes on demand. Several threads
// may read at the same time. Errors throw FileError with the file's name.
class SafetensorsReader {
 public:
  explicit SafetensorsReader(const std::filesystem::path& path);
  // Reads a file's bytes from memory, which must outlive the reader. Messages use `name`.
  SafetensorsReader(std::span<const std::byte> bytes, std::string name);

  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  const std::vector<TensorEntry>& tensors() const { return header_.tensors; }  // in file order
  const TensorEntry* find(std::string_view name) const;                        // nullptr if absent

  // `entry` is one of tensors(); `destination` has room for byte_size_of(entry) bytes.
  void read(const TensorEntry& entry, std::byte* destination) const;

 private:
  void read_header(std::uint64_t file_bytes);
  void read_at(std::uint64_t offset, std::span<std::byte> destination) const;

  std::string path_;
  FileDescriptor file_;                // closed where the bytes are in memory
  std::span<const std::byte> memory_;  // empty where they are in a file
  std::uint64_t payload_begin_ = 0;
  SafetensorsHeader header_;
  std::map<std::string, std::size_t, std::less<>> index_of_;
};

}  // namespace sing
