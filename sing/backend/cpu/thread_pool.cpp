// Starts the threads, hands them a task and waits for them.
#include "sing/backend/cpu/thread_pool.hpp"

namespace sing::cpu {

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void ThreadPool::start() {
  while (static_cast<int>(threads_.size()) < workers_ - 1) {
    const int worker = static_cast<int>(threads_.size()) + 1;
    threads_.emplace_back([this, worker] { serve(worker); });
  }
}

void ThreadPool::run(int count, const std::function<void(int)>& task) {
  if (count > 1) {
    start();
    {
      const std::lock_guard lock(mutex_);
      task_ = &task;
      count_ = count;
      running_ = count - 1;
      ++round_;
    }
    wake_.notify_all();
  }
  task(0);
  if (count > 1) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return running_ == 0; });
    task_ = nullptr;
  }
}

void ThreadPool::serve(int worker) {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stopping_ || (round_ != seen && worker < count_); });
    if (stopping_) {
      return;
    }
    seen = round_;
    const std::function<void(int)>& task = *task_;
    lock.unlock();
    task(worker);
    lock.lock();
    if (--running_ == 0) {
      done_.notify_one();
    }
  }
}

}  // namespace sing::cpu
