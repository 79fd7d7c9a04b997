// Cuts arrays out of blocks that ask for large pages.
#include "sing/backend/cpu/state_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace sing::cpu {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kLargePage = std::size_t{2} << 20;
// Shorter arrays are allocated separately: they gain nothing, and a sanitizer checks their bounds.
constexpr std::size_t kShortArray = std::size_t{256} << 10;
// Bytes that are left free after an array. Most arrays are whole pages long, and arrays that begin
// at the same offset in a page compete for the same cache sets.
constexpr std::size_t kStagger = 17 * kCacheLine;
// Each block has twice the size of the one before it, within these bounds.
constexpr std::size_t kSmallestBlock = 2 * kLargePage;
constexpr std::size_t kLargestBlock = 32 * kLargePage;

std::size_t round_up(std::size_t bytes, std::size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

std::shared_ptr<std::byte> allocate_aligned(std::size_t bytes, std::size_t alignment) {
  void* memory = std::aligned_alloc(alignment, bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return {static_cast<std::byte*>(memory), std::free};
}

// Large pages are only a request: without them the memory works as well, more slowly.
std::shared_ptr<std::byte> allocate_block(std::size_t bytes) {
  std::shared_ptr<std::byte> block = allocate_aligned(bytes, kLargePage);
#if defined(MADV_HUGEPAGE)
  madvise(block.get(), bytes, MADV_HUGEPAGE);
#endif
  return block;
}

}  // namespace

std::shared_ptr<void> StateMemory::allocate(std::size_t bytes) {
  const std::size_t rounded = round_up(std::max<std::size_t>(bytes, 1), kCacheLine);
  std::shared_ptr<std::byte> array;
  if (rounded < kShortArray) {
    array = allocate_aligned(rounded, kCacheLine);
  } else if (rounded > kLargestBlock / 2) {
    array = allocate_block(round_up(rounded, kLargePage));
  } else {
    if (block_.use_count() == 1) {  // its arrays have been freed
      used_bytes_ = 0;
    }
    if (block_bytes_ - used_bytes_ < rounded) {
      block_bytes_ = std::clamp(2 * block_bytes_, kSmallestBlock, kLargestBlock);
      block_bytes_ = std::max(block_bytes_, round_up(rounded, kLargePage));
      block_ = nullptr;
      block_ = allocate_block(block_bytes_);
      used_bytes_ = 0;
    }
    array = {block_, block_.get() + used_bytes_};
    used_bytes_ = std::min(block_bytes_, used_bytes_ + rounded + kStagger);
  }
  std::memset(array.get(), 0, rounded);
  return array;
}

}  // namespace sing::cpu
