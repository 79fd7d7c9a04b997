// Makes batches on a separate thread, a few ahead of the one in training.
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

// Calls make(position) for the positions begin … end − 1 in this order.
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

  // Returns the next item, or throws the exception that making it threw. May be called at most end
  // − begin times.
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
  std::thread thread_;  // last member, because the thread uses all others
};

}  // namespace sing::lab::loop
