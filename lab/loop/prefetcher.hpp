// Makes batches on a thread of its own, a few ahead of the one that trains on them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace sing::lab::loop {

// make(position) for the positions begin … end − 1 in that order.
template <class Item>
class Prefetcher {
 public:
  Prefetcher(std::function<Item(std::int64_t)> make, std::int64_t begin, std::int64_t end,
             std::size_t ahead = 4)
      : make_(std::move(make)), ahead_(ahead), thread_([this, begin, end] { work(begin, end); }) {}

  ~Prefetcher() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // The next item; throws what its making threw. Not to be called more than end − begin times.
  Item next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !ready_.empty() || thrown_; });
    if (ready_.empty()) {
      std::rethrow_exception(thrown_);
    }
    Item item = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return item;
  }

 private:
  void work(std::int64_t begin, std::int64_t end) {
    try {
      for (std::int64_t position = begin; position < end; ++position) {
        Item item = make_(position);
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ready_.size() < ahead_ || stopped_; });
        if (stopped_) {
          return;
        }
        ready_.push_back(std::move(item));
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      thrown_ = std::current_exception();
      changed_.notify_all();
    }
  }

  std::function<Item(std::int64_t)> make_;
  std::size_t ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> ready_;
  std::exception_ptr thrown_;
  bool stopped_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace sing::lab::loop
