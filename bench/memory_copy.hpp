// Declares a plain copy of a large buffer by several threads, as the reference for the bandwidth of
// a step.
#pragma once

#include "bench/contestant.hpp"

namespace sing::bench {

// Bytes that one step of the contestant below reads and writes.
inline constexpr std::size_t kCopiedBytes = 2ULL << 28;

Contestant make_memory_copy(int threads);

}  // namespace sing::bench
