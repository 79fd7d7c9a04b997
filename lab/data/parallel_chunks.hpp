// Runs a function over chunks of a range on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sing::lab::data {

// Calls work(begin, end, worker) once for each chunk of at most `chunk` indices of 0 … count − 1,
// on any free worker 0 … threads − 1; the calling thread is worker 0. Threads are started per call,
// because starting one takes about ten microseconds and a batch takes milliseconds. After an
// exception no further chunk starts, and one of the exceptions is rethrown.
inline void for_each_chunk(int threads, std::size_t count, std::size_t chunk,
                           const std::function<void(std::size_t, std::size_t, int)>& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto serve = [&](int worker) {
    try {
      for (std::size_t begin; (begin = next.fetch_add(chunk)) < count;) {
        work(begin, std::min(begin + chunk, count), worker);
      }
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      thrown = std::current_exception();
    }
  };
  {
    const std::size_t chunks = (count + chunk - 1) / chunk;
    const auto workers = std::min(static_cast<std::size_t>(threads), chunks);
    std::vector<std::jthread> others;  // joined at the end of the block
    for (std::size_t worker = 1; worker < workers; ++worker) {
      others.emplace_back(serve, static_cast<int>(worker));
    }
    serve(0);
  }
  if (thrown) {
    std::rethrow_exception(thrown);
  }
}

}  // namespace sing::lab::data
