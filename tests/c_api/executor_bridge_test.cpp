// Checks runs of more tasks than the tests in C have threads for.
#include "sing/c_api/executor_bridge.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sing::c_api {
namespace {

void run_in_order(void* /*context*/, int count, sing_task task, void* argument) {
  for (int i = 0; i < count; ++i) {
    task(argument, i);
  }
}

// A step has at most as many tasks as the backend has threads, whose number has no bound.
TEST(ExecutorBridge, RunsEachOfManyTasksOnce) {
  constexpr int kTasks = 5000;
  std::vector<int> runs(kTasks);
  bridge_executor(run_in_order, nullptr)(kTasks,
                                         [&](int i) { ++runs[static_cast<std::size_t>(i)]; });
  EXPECT_EQ(runs, std::vector<int>(kTasks, 1));
}

}  // namespace
}  // namespace sing::c_api
