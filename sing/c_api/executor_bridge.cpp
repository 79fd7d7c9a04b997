// One run of tasks through a C function pointer.
#include "sing/c_api/executor_bridge.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <vector>

#include "sing/base/message.hpp"

namespace sing::c_api {
namespace {

struct TaskRun {
  const std::function<void(int)>& task;
  int count;
  std::vector<std::atomic<bool>> claimed;  // one per task
  std::atomic<int> finished{0};
  std::mutex mutex;
  std::exception_ptr first_exception;

  void call(int index) noexcept {
    try {
      if (index < 0 || index >= count) {
        throw Error(fmt::format("[executor] wanted a task from 0 to {}, got {}", count - 1, index));
      }
      if (claimed[static_cast<std::size_t>(index)].exchange(true)) {
        throw Error(fmt::format("[executor] wanted task {} once, got it twice", index));
      }
      task(index);
      finished.fetch_add(1, std::memory_order_acq_rel);
    } catch (...) {
      const std::scoped_lock lock(mutex);
      if (!first_exception) {
        first_exception = std::current_exception();
      }
    }
  }

  void finish() {
    const std::scoped_lock lock(mutex);
    if (first_exception) {
      std::rethrow_exception(first_exception);
    }
    const int ran = finished.load(std::memory_order_acquire);
    if (ran != count) {
      throw Error(fmt::format(
          "[executor] wanted {} finished tasks, got {}; the calling thread did the rest", count,
          ran));
    }
  }
};

extern "C" void call_task(void* argument, int index) {
  static_cast<TaskRun*>(argument)->call(index);
}

}  // namespace

Executor bridge_executor(sing_executor executor, void* context) {
  return [executor, context](int count, const std::function<void(int)>& task) {
    TaskRun run{.task = task,
                .count = count,
                .claimed = std::vector<std::atomic<bool>>(static_cast<std::size_t>(count)),
                .finished = {},
                .mutex = {},
                .first_exception = {}};
    executor(context, count, &call_task, &run);
    run.finish();
  };
}

}  // namespace sing::c_api
