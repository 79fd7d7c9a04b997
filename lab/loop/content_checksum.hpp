// Computes a checksum of a checkpoint's content that does not depend on the order of its tensors.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sing/io/safetensors.hpp"

namespace sing::lab::loop {

// The metadata key that holds the checksum. The checksum does not cover this key.
inline constexpr const char* kChecksumKey = "checksum";

// Returns the bytes of one tensor.
std::vector<std::byte> read_bytes(const SafetensorsReader& reader, const TensorEntry& entry);

// Returns eight hexadecimal digits: the CRC-32 of all metadata entries and of all tensors with
// their types and shapes, in the order of their names.
std::string content_checksum(std::span<const TensorBytes> tensors,
                             const std::map<std::string, std::string>& metadata);

// Reads all tensors of the file.
std::string content_checksum(const SafetensorsReader& reader);

// Returns the checksum that checkpoints of format version 2 hold. It covers names and bytes of
// tensors only.
std::string content_checksum_of_version_2(const SafetensorsReader& reader);

}  // namespace sing::lab::loop
