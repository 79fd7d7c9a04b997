// Checks what another library needs to own or move an optimizer's memory: allocators, owners, moved
// storage, state allocated ahead of time, learning rates in backend memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "tests/contract/rule_variants.hpp"
#include "tests/optim/resumable_run.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/same_bytes.hpp"

namespace sing {
namespace {

using test::DeviceTensor;
using test::random_values;
using test::ResumableRun;

class LiveMemory : public test::BackendTest {
 protected:
  DeviceTensor tensor(const std::vector<double>& values, Dtype dtype = Dtype::kFloat32) {
    return {backend_, dtype, {static_cast<std::int64_t>(values.size())}, values};
  }

  template <class Number>
  std::vector<Number> read(const void* memory, std::size_t count) {
    std::vector<Number> numbers(count);
    backend_->read(numbers.data(), memory, count * sizeof(Number));
    return numbers;
  }
};
SING_ON_BACKENDS(LiveMemory, test::backend_kinds());

// Counts the allocations and the returned ones.
struct Ledger {
  std::size_t given = 0;
  std::size_t bytes = 0;
  std::size_t returned = 0;
};

Allocator counting_allocator(const std::shared_ptr<Ledger>& ledger) {
  return [ledger](std::size_t bytes) {
    ++ledger->given;
    ledger->bytes += bytes;
    return std::shared_ptr<void>(std::calloc(bytes + 1, 1), [ledger](void* memory) {
      ++ledger->returned;
      std::free(memory);
    });
  };
}

TEST(Allocators, GiveAllStateAndAllCounters) {
  const auto ledger = std::make_shared<Ledger>();
  {
    const std::shared_ptr<Backend> backend =
        make_cpu_backend({.threads = 1, .allocator = counting_allocator(ledger)});
    const std::shared_ptr<Backend> own = make_cpu_backend({.threads = 1});
    DeviceTensor weight(own, Dtype::kFloat32, {3, 7}, random_values(1, 21));
    const DeviceTensor gradient(own, Dtype::kFloat32, {3, 7}, random_values(2, 21));
    Optimizer optimizer({weight.parameter("w", gradient)}, {}, backend);
    const std::size_t counters =
        sizeof(OptimizerProgress) + sizeof(GroupProgress) + sizeof(TensorProgress);
    EXPECT_EQ(ledger->bytes, counters);
    optimizer.step();
    // The arrays are two moments and the slow weights.
    EXPECT_EQ(ledger->bytes, counters + 3 * 21 * sizeof(float));
    EXPECT_EQ(ledger->given, 6U);
    optimizer.load_bytes(optimizer.save_bytes());
    EXPECT_EQ(ledger->bytes, counters + 6 * 21 * sizeof(float));
    EXPECT_EQ(ledger->returned, 3U);
  }
  EXPECT_EQ(ledger->returned, ledger->given);
}

TEST(Allocators, DoNotChangeTheNumbers) {
  std::vector<std::vector<std::string>> results;
  for (const Allocator& allocator : {Allocator{}, counting_allocator(std::make_shared<Ledger>())}) {
    ResumableRun run(make_cpu_backend({.threads = 2, .allocator = allocator}), Dtype::kFloat32, {});
    for (int step = 0; step < 6; ++step) {
      run.take_step(step);
    }
    results.push_back(run.everything());
  }
  EXPECT_TRUE(test::same_bytes(results[1], results[0]));
}

TEST_P(LiveMemory, StateOutlivesTheOptimizer) {
  DeviceTensor weight = tensor({1, 2});
  const DeviceTensor gradient = tensor({3, 4});
  Options options;
  options.rule = Sgd{.learning_rate = 0.5, .momentum = 0.5};
  options.standardize = {.centralize = false, .normalize = Normalize::kOff};
  options.lookahead.reset();
  std::shared_ptr<void> momentum;
  std::shared_ptr<TensorProgress> progress;
  std::shared_ptr<GroupProgress> group;
  {
    Optimizer optimizer({weight.parameter("w", gradient)}, options, backend_);
    progress = optimizer.progress_memory(0);
    group = optimizer.group_progress_memory(0);
    optimizer.step();
    optimizer.step();
    momentum = optimizer.state(0).at(0).memory;
  }
  EXPECT_EQ(read<float>(momentum.get(), 2), (std::vector<float>{4.5F, 6.0F}));
  EXPECT_EQ(read<TensorProgress>(progress.get(), 1)[0].steps, 2);
  EXPECT_EQ(read<TensorProgress>(progress.get(), 1)[0].gradient_norm, 5.0);
  EXPECT_EQ(read<GroupProgress>(group.get(), 1)[0].steps, 2);
}

// Steps read these counters, so writing them is how another format is loaded.
TEST_P(LiveMemory, WrittenCountersDriveTheNextStep) {
  std::vector<std::vector<double>> ends;
  for (const bool writes : {false, true}) {
    DeviceTensor weight = tensor({1, -2, 3});
    DeviceTensor gradient = tensor({0.5, 0.25, -1});
    Optimizer trained({weight.parameter("w", gradient)}, {}, backend_);
    for (int step = 0; step < 4; ++step) {
      trained.step();
    }
    if (!writes) {
      trained.step();  // the fifth step merges
      ends.push_back(weight.values());
      continue;
    }
    Optimizer resumed({weight.parameter("w", gradient)}, {}, backend_);
    EXPECT_TRUE(resumed.state(0).empty());
    resumed.create_state(0);
    const std::vector<StateTensor> from = trained.state(0);
    const std::vector<StateTensor> to = resumed.state(0);
    ASSERT_EQ(to.size(), 3U);
    for (std::size_t k = 0; k < to.size(); ++k) {
      EXPECT_EQ(read<float>(to[k].memory.get(), 3), std::vector<float>(3)) << to[k].name;
      backend_->write(to[k].memory.get(), read<float>(from[k].memory.get(), 3).data(),
                      3 * sizeof(float));
    }
    const TensorProgress tensor_steps{.steps = 4};
    const GroupProgress group_steps{.steps = 4};
    backend_->write(resumed.progress_memory(0).get(), &tensor_steps, sizeof(tensor_steps));
    backend_->write(resumed.group_progress_memory(0).get(), &group_steps, sizeof(group_steps));
    resumed.step();
    ends.push_back(weight.values());
  }
  EXPECT_EQ(ends[0], ends[1]);
}

TEST_P(LiveMemory, CreatedStateIsThatOfTheFirstStep) {
  for (const test::RuleVariant& variant : test::all_rules()) {
    SCOPED_TRACE(variant.name);
    Options options;
    options.rule = variant.rule;
    std::vector<std::vector<double>> ends;
    for (const bool ahead : {false, true}) {
      DeviceTensor weight(backend_, Dtype::kBFloat16, {3, 4}, random_values(1, 12));
      const DeviceTensor gradient(backend_, Dtype::kBFloat16, {3, 4}, random_values(2, 12));
      Optimizer optimizer({weight.parameter("w")}, options, backend_);
      if (ahead) {
        optimizer.create_state(0);
        optimizer.create_state(0);
      }
      optimizer.set_gradient(0, gradient.data());
      optimizer.step();
      ends.push_back(weight.values());
    }
    EXPECT_EQ(ends[0], ends[1]);
  }
}

TEST_P(LiveMemory, AMovedParameterIsUpdatedWhereItIs) {
  DeviceTensor first = tensor({1, 2, 3});
  DeviceTensor second = tensor({1, 2, 3});
  DeviceTensor stays = tensor({1, 2, 3});
  const DeviceTensor gradient = tensor({1, -1, 2});
  Optimizer moving({first.parameter("w", gradient)}, {}, backend_);
  Optimizer staying({stays.parameter("w", gradient)}, {}, backend_);
  moving.step();
  staying.step();
  const std::string before = first.bytes();
  second.set_bytes(before);
  moving.set_data(0, second.data());
  for (int step = 0; step < 5; ++step) {
    moving.step();
    staying.step();
  }
  EXPECT_EQ(first.bytes(), before);
  EXPECT_EQ(second.bytes(), stays.bytes());
  EXPECT_TRUE(second.sentinels_intact());
}

TEST_P(LiveMemory, TwoParametersMaySwapButNotShare) {
  DeviceTensor a = tensor({1, 2});
  DeviceTensor b = tensor({3, 4});
  const DeviceTensor gradient = tensor({1, 1});
  const DeviceTensor other = tensor({1, 0});
  Optimizer optimizer({a.parameter("a", gradient), b.parameter("b", other)}, {}, backend_);
  optimizer.set_data(0, b.data());
  EXPECT_THAT(test::message_of<std::invalid_argument>([&] { optimizer.step(); }),
              ::testing::HasSubstr("share memory"));
  EXPECT_THROW(optimizer.upload(), std::invalid_argument);
  EXPECT_EQ(a.values(), (std::vector<double>{1, 2}));
  EXPECT_EQ(b.values(), (std::vector<double>{3, 4}));
  EXPECT_EQ(optimizer.tensor_progress()[0].steps, 0);
  optimizer.set_data(1, a.data());
  optimizer.step();
  EXPECT_EQ(optimizer.tensor_progress()[0].steps, 1);
  EXPECT_NE(b.values()[1], 4.0);  // now holds "a", whose gradient moves both elements
  EXPECT_EQ(a.values()[1], 2.0);  // now holds "b", whose second gradient is 0
  EXPECT_THROW(optimizer.set_data(0, nullptr), std::invalid_argument);
  EXPECT_THROW(optimizer.set_data(2, a.data()), std::invalid_argument);
}

TEST_P(LiveMemory, TheLearningRateIsReadFromItsSource) {
  Options options;
  options.rule = Sgd{.learning_rate = 100};
  options.standardize = {.centralize = false, .normalize = Normalize::kOff};
  options.lookahead.reset();
  DeviceTensor weight = tensor({1});
  DeviceTensor rate = tensor({0.5});
  const DeviceTensor gradient = tensor({1});
  Optimizer optimizer({weight.parameter("w", gradient)}, options, backend_);
  optimizer.set_learning_rate_source(0, static_cast<const float*>(rate.data()));
  optimizer.step();
  EXPECT_EQ(weight.values()[0], 0.5);
  rate.set(std::vector<double>{0.25});
  optimizer.step();
  EXPECT_EQ(weight.values()[0], 0.25);
  optimizer.set_learning_rate_factor(2);
  optimizer.step();
  EXPECT_EQ(weight.values()[0], -0.25);
  const std::string saved = optimizer.save_bytes();
  optimizer.set_learning_rate_source(0, nullptr);
  optimizer.set_learning_rate_factor(1);
  optimizer.step();
  EXPECT_EQ(weight.values()[0], -100.25);
  optimizer.load_bytes(saved);
  EXPECT_EQ(get_option(optimizer.options(0), "learning_rate"), Value(0.25));
}

}  // namespace
}  // namespace sing
