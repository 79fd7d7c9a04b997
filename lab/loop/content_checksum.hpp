// A checksum of a file's tensors, names and bytes, in whatever order they stand.
#pragma once

#include <span>
#include <string>

#include "sing/io/safetensors.hpp"

namespace sing::lab::loop {

// Eight hexadecimal digits: the CRC-32 of each tensor's name and bytes, joined by exclusive or.
std::string content_checksum(std::span<const TensorBytes> tensors);
// Reads all of them.
std::string content_checksum(const SafetensorsReader& reader);

}  // namespace sing::lab::loop
