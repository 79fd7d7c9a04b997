// Computes CRC-32 with zlib.
#include "lab/loop/content_checksum.hpp"

#include <zlib.h>

#include <vector>

#include "sing/base/message.hpp"

namespace sing::lab::loop {
namespace {

uLong add(uLong sum, std::span<const std::byte> bytes) {
  return crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

uLong add(uLong sum, const std::string& text) { return add(sum, std::as_bytes(std::span(text))); }

uLong sum_of(const TensorEntry& entry, const std::byte* data, ChecksumScope scope) {
  uLong sum = add(0, entry.name);
  if (scope == ChecksumScope::kFile) {
    sum = add(sum, fmt::format(" {} [{}]", name_of(entry.dtype), fmt::join(entry.shape, ", ")));
  }
  return add(sum, {data, *byte_size_of(entry)});
}

uLong sum_of(const std::map<std::string, std::string>& metadata) {
  uLong sum = 0;
  for (const auto& [key, value] : metadata) {
    if (key != kChecksumKey) {
      sum ^= add(0, fmt::format("{} = {}", key, value));
    }
  }
  return sum;
}

std::string text_of(uLong sum) { return fmt::format("{:08x}", sum & 0xffffffffUL); }

}  // namespace

std::string content_checksum(std::span<const TensorBytes> tensors,
                             const std::map<std::string, std::string>& metadata) {
  uLong sum = sum_of(metadata);
  for (const TensorBytes& tensor : tensors) {
    sum ^= sum_of(tensor.entry, tensor.data, ChecksumScope::kFile);
  }
  return text_of(sum);
}

std::string content_checksum(const SafetensorsReader& reader, ChecksumScope scope) {
  uLong sum = scope == ChecksumScope::kFile ? sum_of(reader.metadata()) : 0;
  std::vector<std::byte> bytes;
  for (const TensorEntry& entry : reader.tensors()) {
    bytes.resize(*byte_size_of(entry));
    reader.read(entry, bytes.data());
    sum ^= sum_of(entry, bytes.data(), scope);
  }
  return text_of(sum);
}

}  // namespace sing::lab::loop
