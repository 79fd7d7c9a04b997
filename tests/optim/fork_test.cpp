// Checks that a process forked after a step, which has none of the library's threads, can step and
// destroy the optimizer.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sing/optim/optimizer.hpp"

namespace sing {
namespace {

// The problem is large enough for two threads to take part.
struct LargeProblem {
  std::vector<float> weights = std::vector<float>(200'000, 1.0F);
  std::vector<float> gradients = std::vector<float>(200'000, 0.5F);
  std::optional<Optimizer> optimizer;

  LargeProblem() {
    const std::vector<Parameter> list = {{.name = "weights",
                                          .data = weights.data(),
                                          .shape = {400, 500},
                                          .gradient = gradients.data()}};
    optimizer.emplace(list, Options{}, make_cpu_backend({.threads = 2}));
    gradients[7] = 3.0F;
  }
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

}  // namespace
}  // namespace sing
