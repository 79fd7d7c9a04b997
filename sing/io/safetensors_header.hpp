// The header of a safetensors file: its tensors and the positions of their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sing/base/dtype.hpp"
#include "sing/base/error.hpp"

namespace sing {

// The header's entry for one tensor.
struct TensorEntry {
  std::string name;
  Dtype dtype;
  std::vector<std::int64_t> shape;

  bool operator==(const TensorEntry&) const = default;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<TensorEntry> tensors;    // in the order of their bytes
  std::vector<std::uint64_t> offsets;  // position of each tensor's first byte after the header
};

// The limit of the format's reference implementation.
inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

// product(shape) · size of an element; none if a size is negative or the product overflows.
std::optional<std::uint64_t> byte_size_of(const TensorEntry& entry);

// Parses the JSON text between the length and the payload. The tensors must cover `payload_bytes`
// without gap or overlap. Throws FileError with the name `file`, and nothing else.
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> json_text,
                                           std::uint64_t payload_bytes,
                                           std::string_view file = "memory");

// The JSON text for tensors that follow each other in this order. Throws std::invalid_argument for
// a name that is reserved or occurs twice, for text that is not UTF-8, and for a shape that is not
// valid.
std::string format_safetensors_header(const std::map<std::string, std::string>& metadata,
                                      std::span<const TensorEntry> tensors);

}  // namespace sing
