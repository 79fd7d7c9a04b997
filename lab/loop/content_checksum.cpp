// Computes CRC-32 with zlib.
#include "lab/loop/content_checksum.hpp"

#include <zlib.h>

#include "sing/base/message.hpp"

namespace sing::lab::loop {
namespace {

uLong add(uLong sum, std::span<const std::byte> bytes) {
  return crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

uLong add(uLong sum, const std::string& text) { return add(sum, std::as_bytes(std::span(text))); }

uLong add(uLong sum, const std::map<std::string, std::string>& metadata) {
  for (const auto& [key, value] : metadata) {
    if (key != kChecksumKey) {
      sum = add(sum, fmt::format("{} = {}\n", key, value));
    }
  }
  return sum;
}

uLong add(uLong sum, const TensorEntry& entry, const std::byte* data) {
  sum = add(sum, fmt::format("{} {} [{}]\n", entry.name, name_of(entry.dtype),
                             fmt::join(entry.shape, ", ")));
  return add(sum, {data, *byte_size_of(entry)});
}

std::string text_of(uLong sum) { return fmt::format("{:08x}", sum & 0xffffffffUL); }

}  // namespace

std::vector<std::byte> read_bytes(const SafetensorsReader& reader, const TensorEntry& entry) {
  std::vector<std::byte> bytes(*byte_size_of(entry));
  reader.read(entry, bytes.data());
  return bytes;
}

// One sum runs over everything. A CRC is linear: if the sums of the tensors were combined by
// exclusive or, two tensors could exchange their contents without a change of the result.
std::string content_checksum(std::span<const TensorBytes> tensors,
                             const std::map<std::string, std::string>& metadata) {
  std::map<std::string_view, const TensorBytes*> by_name;
  for (const TensorBytes& tensor : tensors) {
    by_name[tensor.entry.name] = &tensor;
  }
  uLong sum = add(0, metadata);
  for (const auto& [name, tensor] : by_name) {
    sum = add(sum, tensor->entry, tensor->data);
  }
  return text_of(sum);
}

std::string content_checksum(const SafetensorsReader& reader) {
  std::map<std::string_view, const TensorEntry*> by_name;
  for (const TensorEntry& entry : reader.tensors()) {
    by_name[entry.name] = &entry;
  }
  uLong sum = add(0, reader.metadata());
  for (const auto& [name, entry] : by_name) {
    sum = add(sum, *entry, read_bytes(reader, *entry).data());
  }
  return text_of(sum);
}

std::string content_checksum_of_version_2(const SafetensorsReader& reader) {
  uLong sum = 0;
  for (const TensorEntry& entry : reader.tensors()) {
    sum ^= add(add(0, entry.name), read_bytes(reader, entry));
  }
  return text_of(sum);
}

}  // namespace sing::lab::loop
