// Writes a set of RDE images as one safetensors file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "lab/rde/options.hpp"

namespace sing::lab::rde {

struct SetSource {
  RdeOptions options;
  std::uint64_t seed = 0;
  int threads = 1;
};

// `images` float32 [B, 1, S, S], `targets` float32 [B, 1, S, S], `rectangles` uint8 [B, S, S]; the
// metadata holds the options and the seed. A tensor's images are drawn as they are written, so
// that memory does not grow with the set.
void write_set(const std::filesystem::path& path, const SetSource& source,
               std::span<const std::uint64_t> indices);

}  // namespace sing::lab::rde
