// Checks that a step is complete even if the caller's executor throws, leaves out tasks or runs
// them in an unusual order, and that the later steps equal those of a working executor.
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sing/optim/optimizer.hpp"

namespace sing {
namespace {

struct BadExecutor {
  std::string name;
  Executor run;
  bool throws;
};

std::vector<BadExecutor> bad_executors() {
  using Task = std::function<void(int)>;
  return {
      {"runs nothing", [](int, const Task&) {}, false},
      {"runs the first task", [](int, const Task& task) { task(0); }, false},
      // The second task processes the second half of a tensor before the first.
      {"runs the second task", [](int, const Task& task) { task(1); }, false},
      {"runs the last task", [](int count, const Task& task) { task(count - 1); }, false},
      {"throws first", [](int, const Task&) { throw std::runtime_error("no thread"); }, true},
      {"throws after one task",
       [](int, const Task& task) {
         task(0);
         throw std::runtime_error("no thread");
       },
       true},
  };
}

// Has two large tensors, which are processed in chunks, and a small one. The steps with odd numbers
// use `executor`; the others run tasks in order.
class Problem {
 public:
  Problem(const Rule& rule, NonFinite policy, Executor executor) : executor_(std::move(executor)) {
    Options options;
    options.rule = rule;
    options.non_finite = policy;
    std::vector<Parameter> list;
    for (const std::int64_t rows : {300, 2, 250}) {
      const auto size = static_cast<std::size_t>(rows * 400);
      weights_.emplace_back(size, 1.0F);
      gradients_.emplace_back(size);
      for (std::size_t i = 0; i < size; ++i) {
        gradients_.back()[i] = static_cast<float>(i % 7) - 2.5F;
      }
      list.push_back({.name = std::to_string(rows),
                      .data = weights_.back().data(),
                      .shape = {rows, 400},
                      .gradient = gradients_.back().data()});
    }
    const Executor chosen = [this](int count, const std::function<void(int)>& task) {
      if (step_ % 2 == 1) {
        executor_(count, task);
        return;
      }
      for (int i = 0; i < count; ++i) {
        task(i);
      }
    };
    optimizer_ = std::make_unique<Optimizer>(list, options,
                                             make_cpu_backend({.threads = 3, .executor = chosen}));
  }

  // Returns how many of `steps` steps threw.
  int step(int steps) {
    int thrown = 0;
    for (step_ = 0; step_ < steps; ++step_) {
      try {
        optimizer_->step();
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "no thread");
        ++thrown;
      }
    }
    return thrown;
  }

  const std::vector<std::vector<float>>& weights() const { return weights_; }

 private:
  int step_ = 0;
  Executor executor_;
  std::vector<std::vector<float>> weights_;
  std::vector<std::vector<float>> gradients_;
  std::unique_ptr<Optimizer> optimizer_;
};

// AdamW has two passes over a tensor; AdaFactor adds sums of rows and columns, and LAMB sums over
// the whole tensor, for each of which the chunks of a tensor have memory next to one another.
// LAMB's limit is off, because it would hide a wrong sum.
TEST(ExecutorFailure, LeavesTheStepComplete) {
  constexpr int kSteps = 5;
  for (const Rule& rule :
       {Rule(AdamW{}), Rule(AdaFactor{}), Rule(Lamb{.norm_limit = std::nullopt})}) {
    for (const NonFinite policy : {NonFinite::kSkipTensor, NonFinite::kSkipStep}) {
      Problem expected(rule, policy, [](int count, const std::function<void(int)>& task) {
        for (int i = 0; i < count; ++i) {
          task(i);
        }
      });
      expected.step(kSteps);
      for (const BadExecutor& bad : bad_executors()) {
        SCOPED_TRACE(std::string(name_of(rule)) + ", an executor that " + bad.name);
        Problem problem(rule, policy, bad.run);
        EXPECT_EQ(problem.step(kSteps), bad.throws ? kSteps / 2 : 0);
        EXPECT_EQ(problem.weights(), expected.weights());
      }
    }
  }
}

}  // namespace
}  // namespace sing
