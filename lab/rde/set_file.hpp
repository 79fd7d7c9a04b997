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

// Writes float32 `images` [B, 1, S, S], float32 `targets` [B, 1, S, S] and uint8 `rectangles`
// [B, S, S]; the metadata holds the options and the seed. Images are generated while a tensor is
// written, so that memory use does not grow with the set.
void write_set(const std::filesystem::path& path, const SetSource& source,
               std::span<const std::uint64_t> indices);

}  // namespace sing::lab::rde
