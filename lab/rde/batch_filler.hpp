// Fills batches of RDE images into the caller's memory, on several threads.
#pragma once

#include <cstdint>
#include <span>

#include "lab/rde/options.hpp"

namespace sing::lab::rde {

// Where a batch of B images of S × S pixels with N rectangles goes; a null pointer leaves a part
// out. The last three hold all of it in a quarter of the bytes of one float image and less:
// images = greys[rectangles] and targets = levels[rectangles], which a GPU gathers faster than it
// is sent the floats.
struct BatchBuffers {
  float* images = nullptr;             // [B, 1, S, S]
  float* targets = nullptr;            // [B, 1, S, S]
  std::uint8_t* rectangles = nullptr;  // [B, S, S]
  float* greys = nullptr;              // [B, N + 1], [0] the background
  float* levels = nullptr;             // [B, N + 1], height / N
};

// The bytes written depend on options, seed and indices only, not on the number of threads. One
// thread at a time may call fill(), any thread: a prefetching thread owns a filler and hands out
// buffers, pinned ones if it likes.
class BatchFiller {
 public:
  // Throws std::invalid_argument for options that fail check() or threads < 1.
  BatchFiller(const RdeOptions& options, std::uint64_t seed, int threads);

  const RdeOptions& options() const { return options_; }

  // Image indices[i] goes to place i. Throws what make_scene throws; the buffers are then
  // unspecified.
  void fill(std::span<const std::uint64_t> indices, const BatchBuffers& buffers);

 private:
  void fill_one(std::uint64_t index, std::size_t place, const BatchBuffers& buffers) const;

  RdeOptions options_;
  std::uint64_t seed_;
  int threads_;
};

}  // namespace sing::lab::rde
