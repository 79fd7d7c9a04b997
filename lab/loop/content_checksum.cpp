// CRC-32 as zlib computes it.
#include "lab/loop/content_checksum.hpp"

#include <zlib.h>

#include <cstdio>
#include <vector>

namespace sing::lab::loop {
namespace {

uLong checksum_of(const TensorEntry& entry, const std::byte* data) {
  const auto add = [](uLong sum, const void* bytes, std::size_t count) {
    return crc32_z(sum, static_cast<const Bytef*>(bytes), count);
  };
  return add(add(0, entry.name.data(), entry.name.size()), data, *byte_size_of(entry));
}

std::string text_of(uLong sum) {
  char text[9];
  std::snprintf(text, sizeof(text), "%08lx", sum & 0xffffffffUL);
  return text;
}

}  // namespace

std::string content_checksum(std::span<const TensorBytes> tensors) {
  uLong sum = 0;
  for (const TensorBytes& tensor : tensors) {
    sum ^= checksum_of(tensor.entry, tensor.data);
  }
  return text_of(sum);
}

std::string content_checksum(const SafetensorsReader& reader) {
  uLong sum = 0;
  std::vector<std::byte> bytes;
  for (const TensorEntry& entry : reader.tensors()) {
    bytes.resize(*byte_size_of(entry));
    reader.read(entry, bytes.data());
    sum ^= checksum_of(entry, bytes.data());
  }
  return text_of(sum);
}

}  // namespace sing::lab::loop
