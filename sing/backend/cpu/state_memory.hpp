// Memory for optimizer state on the CPU, in large pages where the system has them.
#pragma once

#include <cstddef>
#include <memory>

namespace sing::cpu {

// A step reads four or five arrays at once; pages of 2 MB instead of 4 KB save most of the TLB
// misses. Few arrays of a model are that long, so arrays share blocks. A block is freed with the
// last of its arrays.
class StateMemory {
 public:
  // Zeroed, and aligned to cache lines.
  std::shared_ptr<void> allocate(std::size_t bytes);

 private:
  std::shared_ptr<std::byte> block_;  // the one being filled
  std::size_t block_bytes_ = 0;
  std::size_t used_bytes_ = 0;
};

}  // namespace sing::cpu
