// Fills batches of RDE images into the caller's memory, on several threads.
#pragma once

#include <cstdint>
#include <span>

#include "lab/rde/options.hpp"

namespace sing::lab::rde {

// Destination of a batch of B images of S × S pixels with N rectangles; null pointers are skipped.
// The last three parts encode the others: images = greys[rectangles], targets = levels[rectangles].
// They need about one byte per pixel, and a GPU gathers the floats faster than it receives them.
struct BatchBuffers {
  float* images = nullptr;             // [B, 1, S, S]
  float* targets = nullptr;            // [B, 1, S, S]
  std::uint8_t* rectangles = nullptr;  // [B, S, S]
  float* greys = nullptr;              // [B, N + 1], [0] is the background
  float* levels = nullptr;             // [B, N + 1], height / N
};

// The bytes depend only on options, seed and indices, not on the number of threads. Any thread may
// call fill(), but only one at a time: a prefetching thread owns a filler and passes it buffers,
// which may be pinned.
class BatchFiller {
 public:
  // Throws std::invalid_argument for options that fail check() or threads < 1.
  BatchFiller(const RdeOptions& options, std::uint64_t seed, int threads);

  const RdeOptions& options() const { return options_; }

  // Writes image indices[i] to position i. Throws what make_scene throws; the buffers are then
  // unspecified.
  void fill(std::span<const std::uint64_t> indices, const BatchBuffers& buffers);

 private:
  void fill_one(std::uint64_t index, std::size_t place, const BatchBuffers& buffers) const;

  RdeOptions options_;
  std::uint64_t seed_;
  int threads_;
};

}  // namespace sing::lab::rde
