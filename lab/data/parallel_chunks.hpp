// Runs a function over chunks of a range on a pool's threads and hands on what it throws.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>

#include "sing/backend/cpu/thread_pool.hpp"

namespace sing::lab::data {

// work(begin, end, worker) for chunks of at most `chunk` of 0 … count − 1, each chunk once, by
// whichever worker is free. After an exception no further chunk starts, and one of those thrown is
// thrown again.
inline void for_each_chunk(cpu::ThreadPool& pool, std::size_t count, std::size_t chunk,
                           const std::function<void(std::size_t, std::size_t, int)>& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr thrown;
  pool.run(pool.workers(), [&](int worker) {
    try {
      for (std::size_t begin; (begin = next.fetch_add(chunk)) < count;) {
        work(begin, std::min(begin + chunk, count), worker);
      }
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      thrown = std::current_exception();
    }
  });
  if (thrown) {
    std::rethrow_exception(thrown);
  }
}

}  // namespace sing::lab::data
