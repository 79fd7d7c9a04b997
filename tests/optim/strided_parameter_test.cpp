// Checks parameters whose axes have a different order in memory: the same numbers by index as
// contiguous ones, for every centralized axis, and the same state files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sing/base/message.hpp"
#include "sing/base/strides.hpp"
#include "sing/optim/optimizer.hpp"
#include "sing/optim/standardizer.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/device_tensor.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/random_values.hpp"
#include "tests/support/trajectory.hpp"

namespace sing {
namespace {

using test::DeviceTensor;
using test::message_of;
using ::testing::HasSubstr;
using Shape = std::vector<std::int64_t>;

// Converts values by index, last axis fastest, to the order in memory, or back.
std::vector<double> ordered(const std::vector<double>& values, const Shape& shape,
                            const Shape& from, const Shape& to) {
  std::vector<double> result(values.size());
  reorder(reinterpret_cast<std::byte*>(result.data()), to,
          reinterpret_cast<const std::byte*>(values.data()), from, shape, sizeof(double));
  return result;
}

// Holds one float64 tensor whose values and gradients are set and read by index.
class StridedRun {
 public:
  StridedRun(const std::shared_ptr<Backend>& backend, Shape shape, Shape strides,
             const Options& options)
      : shape_(std::move(shape)),
        strides_(std::move(strides)),
        parameter_(backend, Dtype::kFloat64, shape_),
        gradient_(backend, Dtype::kFloat64, shape_),
        optimizer_(options, backend) {
    parameter_.set(in_memory(test::random_values(1, product(shape_))));
    Parameter listed = parameter_.parameter("tensor", gradient_);
    listed.strides = strides_;
    optimizer_.add_group({listed});
  }

  void take_step(int step) {
    gradient_.set(
        in_memory(test::random_values(100 + static_cast<std::uint64_t>(step), product(shape_))));
    optimizer_.step();
  }

  std::vector<double> values() const {
    return ordered(parameter_.values(), shape_, strides_, contiguous_strides(shape_));
  }
  Optimizer& optimizer() { return optimizer_; }

 private:
  std::vector<double> in_memory(const std::vector<double>& values) const {
    return ordered(values, shape_, contiguous_strides(shape_), strides_);
  }

  Shape shape_, strides_;
  DeviceTensor parameter_, gradient_;
  Optimizer optimizer_;
};

struct Order {
  Shape shape, strides;
};

std::vector<Order> orders() {
  return {{{4, 5, 3, 2}, {30, 1, 10, 5}},         // channels last
          {{4, 5, 3, 2}, {1, 4, 20, 60}},         // the first axis fastest
          {{6, 1, 4}, {1, 9, 6}},                 // an axis of one element
          {{5, 2, 61, 103}, {12566, 1, 206, 2}},  // longer than one chunk of work
          {{30'011, 3}, {1, 30'011}}};
}

class StridedParameter : public test::BackendTest {};
SING_ON_BACKENDS(StridedParameter, test::backend_kinds());

TEST_P(StridedParameter, EqualsAContiguousOneAlongEveryAxis) {
  for (const auto& [shape, strides] : orders()) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      Options options;
      options.standardize.centralize_axis = static_cast<std::int64_t>(axis);
      options.rule = AdamW{.learning_rate = 0.1, .weight_decay = 0.1};
      StridedRun plain(backend_, shape, contiguous_strides(shape), options);
      StridedRun turned(backend_, shape, strides, options);
      for (int step = 0; step < 7; ++step) {
        if (step == 3) {  // the axis changes between steps
          const auto other = static_cast<std::int64_t>((axis + 1) % shape.size());
          plain.optimizer().set_option(0, "centralize_axis", other);
          turned.optimizer().set_option(0, "centralize_axis", other);
        }
        plain.take_step(step);
        turned.take_step(step);
      }
      // Sums run in memory order: a few tens of roundings of 1.1e-16 per step.
      test::expect_values(turned.values(), plain.values(), 1e-12);
    }
  }
}

TEST_P(StridedParameter, IsServedByEveryRuleThatTakesItsOrder) {
  for_each_rule_type([&]<class R>() {
    for (const auto& [shape, strides] : orders()) {
      SCOPED_TRACE(R::kName);
      Options options;
      options.rule = R{};
      if (!takes_order(options.rule, shape, strides)) {
        EXPECT_THAT(message_of<std::invalid_argument>(
                        [&] { StridedRun(backend_, shape, strides, options); }),
                    HasSubstr(fmt::format("that rule '{}' takes", R::kName)));
        continue;
      }
      StridedRun plain(backend_, shape, contiguous_strides(shape), options);
      StridedRun turned(backend_, shape, strides, options);
      for (int step = 0; step < 6; ++step) {
        plain.take_step(step);
        turned.take_step(step);
      }
      // Each of Muon's iterations multiplies rounding errors by its slope, 3.4.
      test::expect_values(turned.values(), plain.values(), kIsOrthogonal<R> ? 1e-9 : 1e-12);
    }
  });
}

TEST(TakesOrder, RulesOfMatricesNeedRowsThatFollowEachOther) {
  const Shape shape{2, 3, 4};
  const Shape contiguous{12, 4, 1};
  const Shape turned_inside{12, 1, 3};
  const Shape turned{4, 8, 1};
  EXPECT_TRUE(takes_order(Muon{}, shape, contiguous));
  EXPECT_TRUE(takes_order(Muon{}, shape, turned_inside));
  EXPECT_FALSE(takes_order(Muon{}, shape, turned));
  EXPECT_TRUE(takes_order(Muon{}, Shape{1, 3, 4}, Shape{1, 1, 3}));
  EXPECT_TRUE(takes_order(AdaFactor{}, shape, contiguous));
  EXPECT_FALSE(takes_order(AdaFactor{}, shape, turned_inside));
  EXPECT_TRUE(takes_order(AdamW{}, shape, turned));
}

TEST_P(StridedParameter, DoesNotShowItsOrderInAStateFile) {
  Options options = test::bare_rule(AdamW{.learning_rate = 0.1});
  options.lookahead = Lookahead{};
  for (const auto& [shape, strides] : orders()) {
    StridedRun plain(backend_, shape, contiguous_strides(shape), options);
    StridedRun turned(backend_, shape, strides, options);
    for (int step = 0; step < 3; ++step) {
      plain.take_step(step);
      turned.take_step(step);
    }
    const std::string saved = plain.optimizer().save_bytes();
    ASSERT_TRUE(turned.optimizer().save_bytes() == saved);
    StridedRun resumed(backend_, shape, strides, options);
    for (int step = 0; step < 3; ++step) {
      resumed.take_step(step);
    }
    resumed.take_step(9);  // a different state, which the file replaces
    resumed.optimizer().load_bytes(saved);
    ASSERT_TRUE(resumed.optimizer().save_bytes() == saved);
  }
}

TEST_P(StridedParameter, IsStandardizedAsAContiguousOne) {
  for (const auto& [shape, strides] : orders()) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const std::vector<double> values = test::random_values(7, product(shape));
      const Shape plain = contiguous_strides(shape);
      std::vector<std::vector<double>> results;
      for (const Shape& each : {plain, strides}) {
        const DeviceTensor gradient(backend_, Dtype::kFloat64, shape,
                                    ordered(values, shape, plain, each));
        const StandardizeTensor listed[] = {{.shape = shape,
                                             .strides = each,
                                             .dtype = Dtype::kFloat64,
                                             .gradient = gradient.data(),
                                             .destination = gradient.data()}};
        standardize(listed, {.centralize_axis = static_cast<std::int64_t>(axis)}, backend_);
        results.push_back(ordered(gradient.values(), shape, each, plain));
      }
      test::expect_values(results[1], results[0], 1e-14);
    }
  }
}

TEST_P(StridedParameter, WithGapsOrOverlapsIsRefused) {
  for (const Shape& strides : {Shape{6, 1}, Shape{1, 0}, Shape{1, 1}, Shape{3}, Shape{3, -1}}) {
    EXPECT_THAT(message_of<std::invalid_argument>([&] {
                  const DeviceTensor memory(backend_, Dtype::kFloat32, {100});
                  Optimizer(std::vector<Parameter>{
                      {.name = "bad", .data = memory.data(), .shape = {4, 3}, .strides = strides}});
                }),
                AllOf(HasSubstr("'bad'"), HasSubstr("wanted memory without gaps and overlaps")));
  }
}

}  // namespace
}  // namespace sing
