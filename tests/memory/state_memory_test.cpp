// Checks arrays that share blocks: they are zeroed, do not overlap, and live as long as their
// owner.
#include "sing/backend/cpu/state_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace sing::cpu {
namespace {

struct Array {
  std::shared_ptr<void> memory;
  std::size_t bytes;

  std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(memory.get()); }
};

// Allocates short arrays, arrays that share blocks of every size, and one with its own block.
std::vector<Array> allocate_all(StateMemory& memory) {
  std::vector<Array> arrays;
  for (const std::size_t kilobytes :
       {0, 1, 255, 256, 576, 576, 2304, 5000, 12'000, 30'000, 40'000}) {
    const std::size_t bytes = kilobytes * 1024 + 20;
    arrays.push_back({memory.allocate(bytes), bytes});
  }
  return arrays;
}

TEST(StateMemory, ArraysAreZeroedAlignedAndApart) {
  StateMemory memory;
  for (int turn = 0; turn < 3; ++turn) {  // later turns reuse memory
    std::vector<Array> arrays = allocate_all(memory);
    for (const Array& array : arrays) {
      const auto* bytes = static_cast<const unsigned char*>(array.memory.get());
      EXPECT_TRUE(std::all_of(bytes, bytes + array.bytes, [](unsigned char b) { return b == 0; }));
      EXPECT_EQ(array.address() % 64, 0U);
    }
    std::sort(arrays.begin(), arrays.end(),
              [](const Array& a, const Array& b) { return a.address() < b.address(); });
    for (std::size_t i = 0; i + 1 < arrays.size(); ++i) {
      EXPECT_LE(arrays[i].address() + arrays[i].bytes, arrays[i + 1].address());
    }
    for (const Array& array : arrays) {
      std::memset(array.memory.get(), 0xFF, array.bytes);
    }
  }
}

TEST(StateMemory, WholePagesBeginAtDifferentPlacesOfAPage) {
  StateMemory memory;
  const Array first{memory.allocate(1 << 20), 1 << 20};
  const Array second{memory.allocate(1 << 20), 1 << 20};
  EXPECT_NE(first.address() % 4096, second.address() % 4096);
}

TEST(StateMemory, ArraysOutliveTheirOwnerAndEachOther) {
  auto memory = std::make_unique<StateMemory>();
  std::vector<Array> arrays = allocate_all(*memory);
  memory.reset();
  while (!arrays.empty()) {
    arrays.erase(arrays.begin());
    for (const Array& array : arrays) {
      std::memset(array.memory.get(), 1, array.bytes);  // a sanitizer would report freed memory
    }
  }
}

}  // namespace
}  // namespace sing::cpu
