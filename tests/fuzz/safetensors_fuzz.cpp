// Defines the fuzz target: for any bytes, the header parser throws FileError or parses them
// exactly.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "sing/base/error.hpp"
#include "sing/io/safetensors_header.hpp"

namespace {

void expect(bool condition) {
  if (!condition) {
    std::abort();
  }
}

}  // namespace

// The input is eight bytes of payload size, little-endian, then the JSON text.
// NOLINTNEXTLINE(readability-identifier-naming): the name libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint64_t payload_bytes = 0;
  if (size < sizeof payload_bytes) {
    return 0;
  }
  std::memcpy(&payload_bytes, data, sizeof payload_bytes);
  sing::SafetensorsHeader header;
  try {
    header = sing::parse_safetensors_header(
        std::as_bytes(std::span(data, size)).subspan(sizeof payload_bytes), payload_bytes);
  } catch (const sing::FileError&) {
    return 0;
  }

  std::uint64_t end = 0;
  expect(header.offsets.size() == header.tensors.size());
  for (std::size_t k = 0; k < header.tensors.size(); ++k) {
    expect(header.offsets[k] == end);
    end += sing::byte_size_of(header.tensors[k]).value();
  }
  expect(end == payload_bytes);

  const std::string text = sing::format_safetensors_header(header.metadata, header.tensors);
  const sing::SafetensorsHeader again =
      sing::parse_safetensors_header(std::as_bytes(std::span(text)), payload_bytes);
  expect(again.metadata == header.metadata);
  expect(again.tensors == header.tensors);
  expect(again.offsets == header.offsets);
  return 0;
}
