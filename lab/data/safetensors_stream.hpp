// Writes a safetensors data file in pieces, for sets larger than memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sing/io/atomic_file.hpp"

namespace sing::lab::data {

// Data sets contain bytes, which the optimizer's state files do not.
enum class ElementType { kFloat32, kUInt8 };

struct StreamedTensor {
  std::string name;
  ElementType type;
  std::vector<std::int64_t> shape;
};

// The tensors' bytes follow in the order of the list, in pieces of any size. commit() gives the
// file its name and throws std::logic_error if bytes are missing; write() throws it for bytes
// beyond the last tensor. System errors throw FileError and leave an existing file of that name
// untouched.
class SafetensorsStream {
 public:
  SafetensorsStream(const std::filesystem::path& path,
                    const std::map<std::string, std::string>& metadata,
                    const std::vector<StreamedTensor>& tensors);

  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  AtomicFile file_;
  std::uint64_t missing_bytes_ = 0;
};

}  // namespace sing::lab::data
