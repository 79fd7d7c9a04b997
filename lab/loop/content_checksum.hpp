// Computes a checksum of a checkpoint's content that does not depend on the order of its tensors.
#pragma once

#include <map>
#include <span>
#include <string>

#include "sing/io/safetensors.hpp"

namespace sing::lab::loop {

// The metadata key that holds the checksum. The checksum does not cover this key.
inline constexpr const char* kChecksumKey = "checksum";

// The parts of a file that a checksum covers.
enum class ChecksumScope {
  kTensors,  // names and bytes: checkpoints of format version 2
  kFile,     // types, shapes and metadata too
};

// Returns eight hexadecimal digits: the CRC-32s of all tensors and metadata entries, combined by
// exclusive or.
std::string content_checksum(std::span<const TensorBytes> tensors,
                             const std::map<std::string, std::string>& metadata);

// Reads all tensors of the file.
std::string content_checksum(const SafetensorsReader& reader, ChecksumScope scope);

}  // namespace sing::lab::loop
