// Writes the header of a streamed safetensors file and counts the bytes that follow.
#include "lab/data/safetensors_stream.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "sing/base/message.hpp"

namespace sing::lab::data {
namespace {

std::uint64_t byte_size_of(const StreamedTensor& tensor) {
  std::uint64_t bytes = tensor.type == ElementType::kFloat32 ? 4 : 1;
  for (const std::int64_t size : tensor.shape) {
    const bool fits =
        size >= 0 && !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes);
    SING_CHECK(fits, "[safetensors] '{}': wanted a shape whose bytes can be counted", tensor.name);
  }
  return bytes;
}

// Returns the length in eight bytes and the JSON text, padded so that the first tensor is aligned.
std::string header_of(const std::map<std::string, std::string>& metadata,
                      const std::vector<StreamedTensor>& tensors) {
  nlohmann::json header = {{"__metadata__", metadata}};
  std::uint64_t offset = 0;
  for (const StreamedTensor& tensor : tensors) {
    const std::uint64_t end = offset + byte_size_of(tensor);
    header[tensor.name] = {{"dtype", tensor.type == ElementType::kFloat32 ? "F32" : "U8"},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string length(8, '\0');
  for (std::size_t byte = 0; byte < length.size(); ++byte) {
    length[byte] = static_cast<char>((text.size() >> (8 * byte)) & 0xFF);
  }
  return length + text;
}

}  // namespace

SafetensorsStream::SafetensorsStream(const std::filesystem::path& path,
                                     const std::map<std::string, std::string>& metadata,
                                     const std::vector<StreamedTensor>& tensors)
    : file_(path) {
  const std::string header = header_of(metadata, tensors);
  file_.write(std::as_bytes(std::span(header)));
  for (const StreamedTensor& tensor : tensors) {
    missing_bytes_ += byte_size_of(tensor);
  }
}

void SafetensorsStream::write(std::span<const std::byte> bytes) {
  if (bytes.size() > missing_bytes_) {
    throw std::logic_error(fmt::format("[safetensors] wanted at most {} more bytes, got {}",
                                       missing_bytes_, bytes.size()));
  }
  file_.write(bytes);
  missing_bytes_ -= bytes.size();
}

void SafetensorsStream::commit() {
  if (missing_bytes_ != 0) {
    throw std::logic_error(fmt::format("[safetensors] {} bytes were not given", missing_bytes_));
  }
  file_.commit();
}

}  // namespace sing::lab::data
