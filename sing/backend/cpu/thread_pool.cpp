// Starts the threads, hands them a task and waits for them.
#include "sing/backend/cpu/thread_pool.hpp"

#include <pthread.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "sing/base/message.hpp"

namespace sing::cpu {
namespace {

// Replaces the member function wait: GCC 12's needs a newer libstdc++ than systems with glibc 2.34
// have, which the wheel supports.
template <class Ready>
void wait(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
          const Ready& is_ready) {
  while (!is_ready()) {
    pthread_cond_wait(condition.native_handle(), lock.mutex()->native_handle());
  }
}

}  // namespace

// The threads of one process together with what they wait for.
class ThreadPool::Crew {
 public:
  Crew() : process_(getpid()) {}

  ~Crew() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  bool belongs_to_this_process() const { return process_ == getpid(); }

  void start(int workers) {
    try {
      while (static_cast<int>(threads_.size()) < workers - 1) {
        const int worker = static_cast<int>(threads_.size()) + 1;
        threads_.emplace_back([this, worker] { serve(worker); });
      }
    } catch (const std::system_error& problem) {
      throw Error(
          fmt::format("[cpu] wanted to start {} threads, got {}: {}; the step was "
                      "completed without them",
                      workers - 1, threads_.size(), problem.code().message()));
    }
  }

  void run(int count, const std::function<void(int)>& task) {
    {
      const std::lock_guard lock(mutex_);
      task_ = &task;
      count_ = count;
      running_ = count - 1;
      ++round_;
    }
    wake_.notify_all();
    task(0);
    std::unique_lock lock(mutex_);
    wait(done_, lock, [this] { return running_ == 0; });
    task_ = nullptr;
  }

 private:
  void serve(int worker) {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    while (true) {
      wait(wake_, lock, [&] { return stopping_ || (round_ != seen && worker < count_); });
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

  pid_t process_;
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

ThreadPool::ThreadPool(int workers) : workers_(workers) {}

ThreadPool::~ThreadPool() { forget_threads_of_parent(); }

// The parent's crew is leaked on purpose: its threads cannot be joined here, and its mutex may have
// been locked at the time of the fork.
void ThreadPool::forget_threads_of_parent() {
  if (crew_ != nullptr && !crew_->belongs_to_this_process()) {
    static_cast<void>(crew_.release());
  }
}

void ThreadPool::run(int count, const std::function<void(int)>& task) {
  if (count <= 1) {
    task(0);
    return;
  }
  forget_threads_of_parent();
  if (crew_ == nullptr) {
    crew_ = std::make_unique<Crew>();
  }
  crew_->start(workers_);
  crew_->run(count, task);
}

}  // namespace sing::cpu
