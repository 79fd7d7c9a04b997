// A fixed number of threads that run the same task, each with its own index.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sing::cpu {

// The calling thread is worker 0, so a pool of one worker has no threads. The others start with the
// first run() that needs them. Only one run() at a time.
class ThreadPool {
 public:
  explicit ThreadPool(int workers) : workers_(workers) {}
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int workers() const { return workers_; }

  // Runs task(0) … task(count − 1), where count ≤ workers(). The task must not throw.
  void run(int count, const std::function<void(int)>& task);

 private:
  void start();
  void serve(int worker);

  int workers_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  const std::function<void(int)>* task_ = nullptr;
  std::uint64_t round_ = 0;  // counts runs, so that a worker takes each one once
  int count_ = 0;
  int running_ = 0;
  bool stopping_ = false;
};

}  // namespace sing::cpu
