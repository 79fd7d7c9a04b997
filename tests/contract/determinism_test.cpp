// Checks that results have the same bits for all thread counts, instruction sets, executors and
// runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "sing/base/message.hpp"
#include "tests/contract/model.hpp"
#include "tests/contract/rule_variants.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/same_bytes.hpp"

namespace sing {
namespace {

using test::all_rules;
using test::Model;
using test::same_bytes;
using test::Shape;
using test::Types;

std::vector<Shape> mixed_shapes() {
  std::vector<Shape> shapes = test::small_shapes();
  for (const Shape& shape : test::large_shapes()) {
    if (!test::kWatchesThreads || shape == test::large_shapes().front()) {
      shapes.push_back(shape);
      shapes.push_back({33, 65});
    }
  }
  if (!test::kWatchesThreads) {
    shapes.push_back({601, 751});
  }
  return shapes;
}

using Results = std::vector<std::string>;  // arrays of each rule

// Returns all arrays of all rules after three steps, one of which merges.
Results run_all(const std::shared_ptr<Backend>& backend, const Types& types, NonFinite policy) {
  Results results;
  for (const test::RuleVariant& variant : all_rules()) {
    Options options;
    options.rule = variant.rule;
    options.lookahead = Lookahead{.period = 2};
    options.non_finite = policy;
    Model model(backend, mixed_shapes(), types, options);
    model.set_gradients(0);
    for (int step = 0; step < 3; ++step) {
      model.optimizer().step();
    }
    for (std::string& bytes : model.all_bytes()) {
      results.push_back(std::move(bytes));
    }
    for (const double norm : model.optimizer().gradient_norms()) {
      results.push_back(fmt::format("{}", norm));
    }
  }
  return results;
}

Results baseline_on_one_thread(const Types& types, NonFinite policy) {
  return run_all(make_cpu_backend({1, nullptr, InstructionSet::kBaseline}), types, policy);
}

constexpr Types kFloat32{Dtype::kFloat32, Dtype::kFloat32};

class CpuVariants : public test::BackendTest {};

std::vector<test::BackendCase> cpu_variants() {
  std::vector<test::BackendCase> cases;
  for (const InstructionSet instruction_set : test::all_instruction_sets()) {
    for (const int threads : {1, 2, 3, 7}) {
      cases.push_back(test::cpu_backend(instruction_set, threads));
    }
  }
  return cases;
}
SING_ON_BACKENDS(CpuVariants, cpu_variants());

TEST_P(CpuVariants, HaveTheBitsOfTheBaselineOnOneThread) {
  for (const NonFinite policy : {NonFinite::kSkipTensor, NonFinite::kSkipStep}) {
    EXPECT_TRUE(
        same_bytes(run_all(backend_, kFloat32, policy), baseline_on_one_thread(kFloat32, policy)))
        << name_of(policy);
  }
}

TEST_P(CpuVariants, HaveTheBitsOfTheBaselineInOtherTypes) {
  for (const Types& types :
       {Types{Dtype::kFloat64, Dtype::kFloat64}, Types{Dtype::kBFloat16, Dtype::kBFloat16},
        Types{Dtype::kFloat16, Dtype::kFloat32, true},
        Types{Dtype::kFloat32, Dtype::kFloat32, false, StateType::kBFloat16},
        Types{Dtype::kBFloat16, Dtype::kBFloat16, true, StateType::kBFloat16}}) {
    EXPECT_TRUE(same_bytes(run_all(backend_, types, NonFinite::kSkipTensor),
                           baseline_on_one_thread(types, NonFinite::kSkipTensor)))
        << types.name();
  }
}

class EveryBackend : public test::BackendTest {};
SING_ON_BACKENDS(EveryBackend, test::backend_kinds());

TEST_P(EveryBackend, GivesTheSameBitsInASecondRun) {
  std::vector<Shape> shapes = test::small_shapes();
  shapes.push_back({300, 333});
  for (const test::RuleVariant& variant : all_rules()) {
    Options options;
    options.rule = variant.rule;
    const auto run = [&] {
      Model model(backend_, shapes, kFloat32, options);
      for (int step = 0; step < 5; ++step) {
        model.take_step(step);
      }
      return model.all_bytes();
    };
    EXPECT_TRUE(same_bytes(run(), run())) << variant.name;
  }
}

// The update of a tensor does not depend on its neighbors in the list.
TEST_P(EveryBackend, GivesTheSameBitsForPermutedTensors) {
  const std::vector<Shape> shapes{{3, 7}, {300, 333}, {12}, {}, {31, 33}, {70'001}};
  for (const test::RuleVariant& variant : all_rules()) {
    Options options;
    options.rule = variant.rule;
    const auto run = [&](const std::vector<std::size_t>& order) {
      std::vector<test::DeviceTensor> parameters;
      std::vector<test::DeviceTensor> gradients;
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        parameters.emplace_back(backend_, Dtype::kFloat32, shapes[i],
                                test::random_values(i, product(shapes[i])));
        gradients.emplace_back(backend_, Dtype::kFloat32, shapes[i],
                               test::random_values(50 + i, product(shapes[i])));
      }
      std::vector<Parameter> list;
      for (const std::size_t i : order) {
        list.push_back(parameters[i].parameter(std::to_string(i), gradients[i]));
      }
      Optimizer optimizer(list, options, backend_);
      for (int step = 0; step < 5; ++step) {
        optimizer.step();
      }
      std::vector<std::string> bytes;
      for (const test::DeviceTensor& parameter : parameters) {
        bytes.push_back(parameter.bytes());
      }
      return bytes;
    };
    EXPECT_TRUE(same_bytes(run({4, 2, 5, 0, 3, 1}), run({0, 1, 2, 3, 4, 5}))) << variant.name;
  }
}

// Two optimizers that share a backend do not disturb each other's plans.
TEST_P(EveryBackend, ServesTwoOptimizersInTurn) {
  Options options;
  const std::vector<Shape> first_shapes{{3, 7}, {300, 333}};
  const std::vector<Shape> second_shapes{{40'000}, {2, 2}};
  Model alone(backend_, first_shapes, kFloat32, options);
  for (int step = 0; step < 3; ++step) {
    alone.take_step(step);
  }
  const auto shared = GetParam().make();
  Model first(shared, first_shapes, kFloat32, options);
  Model second(shared, second_shapes, kFloat32, options);
  for (int step = 0; step < 3; ++step) {
    first.take_step(step);
    second.take_step(step);
  }
  EXPECT_TRUE(same_bytes(first.all_bytes(), alone.all_bytes()));
  second.expect_sentinels();
}

struct NamedExecutor {
  const char* name;
  Executor run;
};

std::vector<NamedExecutor> executors() {
  return {{"in order",
           [](int count, const std::function<void(int)>& task) {
             for (int i = 0; i < count; ++i) {
               task(i);
             }
           }},
          {"in reverse",
           [](int count, const std::function<void(int)>& task) {
             for (int i = count - 1; i >= 0; --i) {
               task(i);
             }
           }},
          {"a thread each", [](int count, const std::function<void(int)>& task) {
             std::vector<std::thread> threads;
             for (int i = 0; i < count; ++i) {
               threads.emplace_back(task, i);
             }
             for (std::thread& thread : threads) {
               thread.join();
             }
           }}};
}

TEST(Executor, OfACallerGivesTheSameBits) {
  const Results expected = baseline_on_one_thread(kFloat32, NonFinite::kSkipTensor);
  for (const NamedExecutor& executor : executors()) {
    for (const int threads : {1, 2, 5}) {
      const std::shared_ptr<Backend> backend =
          make_cpu_backend({threads, executor.run, InstructionSet::kBest});
      EXPECT_TRUE(same_bytes(run_all(backend, kFloat32, NonFinite::kSkipTensor), expected))
          << executor.name << ", " << threads;
    }
  }
}

TEST(Executor, IsAskedForNoMoreTasksThanThreads) {
  std::atomic<int> calls = 0;
  std::atomic<int> most = 0;
  const Executor executor = [&](int count, const std::function<void(int)>& task) {
    ++calls;
    most = std::max(most.load(), count);
    for (int i = 0; i < count; ++i) {
      task(i);
    }
  };
  Model model(make_cpu_backend({4, executor, InstructionSet::kBest}), {{1999, 751}}, kFloat32, {});
  model.take_step(0);
  EXPECT_GE(calls.load(), 1);
  EXPECT_EQ(most.load(), 4);
}

TEST(CpuBackend, RefusesANegativeNumberOfThreads) {
  EXPECT_THROW(make_cpu_backend({-1, nullptr, InstructionSet::kBest}), std::invalid_argument);
}

TEST(CpuBackend, RefusesAnInstructionSetThatTheMachineLacks) {
  for (const InstructionSet instruction_set : test::all_instruction_sets()) {
    if (!is_supported(instruction_set)) {
      EXPECT_THROW(make_cpu_backend({1, nullptr, instruction_set}), std::invalid_argument);
    }
  }
  EXPECT_TRUE(is_supported(InstructionSet::kBaseline));
  EXPECT_TRUE(is_supported(InstructionSet::kBest));
}

}  // namespace
}  // namespace sing
