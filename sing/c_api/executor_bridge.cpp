// One run of tasks through a C function pointer.
#include "sing/c_api/executor_bridge.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

#include "sing/base/message.hpp"

namespace sing::c_api {
namespace {

// The most tasks of one run: the bound of the option `threads`.
constexpr std::size_t kMostTasks = 1024;

struct TaskRun {
  const std::function<void(int)>& task;
  int count;
  std::array<std::atomic<std::uint64_t>, kMostTasks / 64> claimed{};  // one bit per task
  std::atomic<int> finished{0};
  std::mutex mutex;
  std::exception_ptr first_exception;

  void call(int index) noexcept {
    try {
      if (index < 0 || index >= count) {
        throw Error(fmt::format("[executor] wanted a task from 0 to {}, got {}", count - 1, index));
      }
      const std::uint64_t bit = std::uint64_t{1} << (index % 64);
      if ((claimed[static_cast<std::size_t>(index / 64)].fetch_or(bit) & bit) != 0) {
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
                .claimed = {},
                .finished = {},
                .mutex = {},
                .first_exception = {}};
    executor(context, count, &call_task, &run);
    run.finish();
  };
}

}  // namespace sing::c_api
