// Checks that a process forked after a step, which has none of the library's threads, can step and
// destroy the optimizer, and that one which gets no threads completes the step and says so.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sing/optim/optimizer.hpp"
#include "tests/support/message_of.hpp"

namespace sing {
namespace {

// The problem is large enough for two threads to take part.
struct LargeProblem {
  explicit LargeProblem(int threads = 2) {
    const std::vector<Parameter> list = {{.name = "weights",
                                          .data = weights.data(),
                                          .shape = {400, 500},
                                          .gradient = gradients.data()}};
    optimizer.emplace(list, Options{}, make_cpu_backend({.threads = threads}));
    gradients[7] = 3.0F;
  }

  std::vector<float> weights = std::vector<float>(200'000, 1.0F);
  std::vector<float> gradients = std::vector<float>(200'000, 0.5F);
  std::optional<Optimizer> optimizer;
};

// ThreadSanitizer ends a forked process that starts threads.
#ifdef __SANITIZE_THREAD__
#define SKIP_UNDER_THREAD_SANITIZER() GTEST_SKIP() << "ThreadSanitizer forbids threads after fork()"
#else
#define SKIP_UNDER_THREAD_SANITIZER() static_cast<void>(0)
#endif

// Runs `work` in a child that is killed after a minute. Returns its exit status, or −signal.
int status_of_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(work());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(Fork, TheChildStepsAsTheParentDoes) {
  SKIP_UNDER_THREAD_SANITIZER();
  LargeProblem uninterrupted;
  uninterrupted.optimizer->step();
  uninterrupted.optimizer->step();

  LargeProblem problem;
  problem.optimizer->step();
  EXPECT_EQ(status_of_child([&] {
              problem.optimizer->step();
              return problem.weights == uninterrupted.weights ? 0 : 1;
            }),
            0);
  problem.optimizer->step();
  EXPECT_EQ(problem.weights, uninterrupted.weights);
}

TEST(Fork, TheChildDestroysTheOptimizer) {
  SKIP_UNDER_THREAD_SANITIZER();
  LargeProblem problem;
  problem.optimizer->step();
  EXPECT_EQ(status_of_child([&] {
              problem.optimizer.reset();
              return 0;
            }),
            0);
}

TEST(Fork, AGrandchildStepsToo) {
  SKIP_UNDER_THREAD_SANITIZER();
  LargeProblem problem;
  problem.optimizer->step();
  EXPECT_EQ(status_of_child([&] {
              problem.optimizer->step();
              return status_of_child([&] {
                problem.optimizer->step();
                problem.optimizer.reset();
                return 0;
              });
            }),
            0);
}

// The sanitizers reserve more address space than the limit allows.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// Limits the address space to its present size and `more` bytes.
void limit_memory(rlim_t more) {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + more;
  setrlimit(RLIMIT_AS, &limit);
}

// The stacks of 255 threads do not fit into 8 MiB.
TEST(Threads, ThatCannotBeStartedAreAnErrorAfterTheStepIsComplete) {
  LargeProblem uninterrupted;
  LargeProblem problem(256);
  uninterrupted.optimizer->create_state(0);
  problem.optimizer->create_state(0);
  uninterrupted.optimizer->step();
  EXPECT_EQ(status_of_child([&] {
              rlimit before{};
              getrlimit(RLIMIT_AS, &before);
              limit_memory(8 << 20);
              const std::string message =
                  test::message_of<Error>([&] { problem.optimizer->step(); });
              setrlimit(RLIMIT_AS, &before);
              if (message.find("[cpu] wanted to start 255 threads, got ") != 0) {
                return 1;
              }
              if (problem.weights != uninterrupted.weights) {
                return 2;
              }
              problem.optimizer->step();
              uninterrupted.optimizer->step();
              return problem.weights == uninterrupted.weights ? 0 : 3;
            }),
            0);
}

#endif

}  // namespace
}  // namespace sing
