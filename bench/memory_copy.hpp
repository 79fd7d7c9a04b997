// A plain copy of a large buffer by several threads: the bandwidth that a step is compared with.
#pragma once

#include "bench/contestant.hpp"

namespace sing::bench {

// Bytes read and written by one step of the contestant below.
inline constexpr std::size_t kCopiedBytes = 2ULL << 28;

Contestant make_memory_copy(int threads);

}  // namespace sing::bench
