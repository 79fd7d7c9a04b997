// A fixed number of threads that run the same task, each with its own index.
#pragma once

#include <functional>
#include <memory>

namespace sing::cpu {

// The calling thread is worker 0, so a pool of one worker has no threads. The others start with the
// first run() that needs them. Only one run() at a time.
//
// A child made by fork() has none of its parent's threads. There the pool starts threads of its own
// with the next run(), and the destructor waits for no thread of the parent.
class ThreadPool {
 public:
  explicit ThreadPool(int workers);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int workers() const { return workers_; }

  // Runs task(0) … task(count − 1), where count ≤ workers(). The task must not throw. Throws Error
  // and runs nothing if the system does not give it all threads.
  void run(int count, const std::function<void(int)>& task);

 private:
  class Crew;

  void forget_threads_of_parent();

  int workers_;
  std::unique_ptr<Crew> crew_;
};

}  // namespace sing::cpu
