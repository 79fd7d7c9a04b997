// Copies the buffer, one slice per thread.
#include "bench/memory_copy.hpp"

#include <cstring>
#include <memory>
#include <thread>

namespace sing::bench {

Contestant make_memory_copy(int threads) {
  constexpr std::size_t kBytes = kCopiedBytes / 2;
  const auto slices = static_cast<std::size_t>(threads);
  auto source = std::make_shared<std::vector<char>>(kBytes, char{1});
  auto destination = std::make_shared<std::vector<char>>(kBytes, char{0});
  const auto copy = [source, destination, slices] {
    std::vector<std::thread> workers;
    for (std::size_t slice = 0; slice < slices; ++slice) {
      const std::size_t begin = kBytes * slice / slices;
      const std::size_t end = kBytes * (slice + 1) / slices;
      workers.emplace_back([&source = *source, &destination = *destination, begin, end] {
        std::memcpy(destination.data() + begin, source.data() + begin, end - begin);
      });
    }
    for (std::thread& worker : workers) {
      worker.join();
    }
  };
  return {.name = "copy", .title = "memory copy", .parameters = {}, .step = copy};
}

}  // namespace sing::bench
