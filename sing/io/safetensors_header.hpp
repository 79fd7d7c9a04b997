// The header of a safetensors file: which tensors it holds and where their bytes lie.
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

// What the header says of one tensor.
struct TensorEntry {
  std::string name;
  Dtype dtype;
  std::vector<std::int64_t> shape;

  bool operator==(const TensorEntry&) const = default;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<TensorEntry> tensors;    // in the order of their bytes
  std::vector<std::uint64_t> offsets;  // of each tensor's first byte, from the end of the header
};

// The limit of the format's reference implementation.
inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

// product(shape) · size of an element; none when a size is negative or the product overflows.
std::optional<std::uint64_t> byte_size_of(const TensorEntry& entry);

// Reads the JSON text between the length and the payload; `payload_bytes` must be covered exactly,
// without hole or overlap. Throws FileError naming `file` and what is wrong, nothing else.
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> json_text,
                                           std::uint64_t payload_bytes,
                                           std::string_view file = "memory");

// The JSON text for tensors that lie one after the other in the order given. Throws
// std::invalid_argument for a name used twice or reserved, text that is not UTF-8, or a bad shape.
std::string format_safetensors_header(const std::map<std::string, std::string>& metadata,
                                      std::span<const TensorEntry> tensors);

}  // namespace sing
