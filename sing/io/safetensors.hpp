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

// Replaces `path` as a whole (atomic_file.hpp). A caller's mistake is std::invalid_argument, a
// failing system FileError; either way the old file is untouched. Tensors of wider elements come
// first in the file, so that each one is aligned for readers that map it.
void write_safetensors(const std::filesystem::path& path,
                       const std::map<std::string, std::string>& metadata,
                       std::span<const TensorBytes> tensors);

// The bytes of that file.
std::string format_safetensors(const std::map<std::string, std::string>& metadata,
                               std::span<const TensorBytes> tensors);

// Checks the whole header when opened and reads a tensor's bytes on demand; reading from several
// threads is safe. Throws FileError naming the file.
class SafetensorsReader {
 public:
  explicit SafetensorsReader(const std::filesystem::path& path);
  // A file's bytes in memory, which must outlive the reader; `name` stands for the file in
  // messages.
  SafetensorsReader(std::span<const std::byte> bytes, std::string name);

  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  const std::vector<TensorEntry>& tensors() const { return header_.tensors; }  // in file order
  const TensorEntry* find(std::string_view name) const;                        // nullptr: absent

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
