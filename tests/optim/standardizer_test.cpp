// Checks gradients standardized without an optimizer: the same numbers as in a step, in place and
// out of place.
#include "sing/optim/standardizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "tests/contract/model.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/message_of.hpp"

namespace sing {
namespace {

using test::DeviceTensor;
using test::random_values;
using test::Shape;

class StandardizerTest : public test::BackendTest {
 protected:
  static StandardizeTensor listed(const DeviceTensor& gradient, const DeviceTensor& destination) {
    return {.name = "",
            .shape = gradient.shape(),
            .dtype = gradient.dtype(),
            .gradient = gradient.data(),
            .destination = destination.data()};
  }

  // Returns −p after a step of gradient descent at rate 1 from 0.
  std::vector<double> by_a_step(const Standardize& options, const DeviceTensor& gradient) {
    DeviceTensor weight(backend_, gradient.dtype(), gradient.shape());
    Options descent;
    descent.standardize = options;
    descent.rule = Sgd{.learning_rate = 1};
    descent.lookahead.reset();
    Optimizer optimizer({weight.parameter("w", gradient)}, descent, backend_);
    optimizer.step();
    std::vector<double> values = weight.values();
    for (double& value : values) {
      value = 0 - value;
    }
    return values;
  }
};
SING_ON_BACKENDS(StandardizerTest, test::backend_kinds());

TEST_P(StandardizerTest, GivesWhatAStepSees) {
  std::vector<Shape> shapes = test::small_shapes();
  for (const Shape& shape : test::large_shapes()) {
    shapes.push_back(shape);
  }
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat64, Dtype::kBFloat16, Dtype::kFloat16}) {
    for (const Standardize& options :
         {Standardize{},
          Standardize{.centralize = false, .normalize = Normalize::kSizeCalibrated}}) {
      std::vector<DeviceTensor> gradients;
      std::vector<DeviceTensor> apart;
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        gradients.emplace_back(backend_, dtype, shapes[i], random_values(i, product(shapes[i])));
        apart.emplace_back(backend_, dtype, shapes[i]);
      }
      std::vector<StandardizeTensor> copies;
      std::vector<StandardizeTensor> in_place;
      std::vector<std::vector<double>> expected;
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        expected.push_back(by_a_step(options, gradients[i]));
        copies.push_back(listed(gradients[i], apart[i]));
        in_place.push_back(listed(gradients[i], gradients[i]));
      }
      const std::vector<double> norms = standardize(copies, options, backend_);
      EXPECT_EQ(standardize(in_place, options, backend_), norms);
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        EXPECT_EQ(apart[i].values(), expected[i]) << name_of(dtype) << " tensor " << i;
        EXPECT_EQ(gradients[i].values(), expected[i]) << name_of(dtype) << " tensor " << i;
        EXPECT_TRUE(gradients[i].sentinels_intact() && apart[i].sentinels_intact());
      }
    }
  }
}

TEST_P(StandardizerTest, TheLossScaleIsTakenOut) {
  const DeviceTensor gradient(backend_, Dtype::kFloat64, {2}, std::vector<double>{30, 40});
  DeviceTensor out(backend_, Dtype::kFloat64, {2});
  const Standardize off{.centralize = false, .normalize = Normalize::kOff};
  const std::vector<StandardizeTensor> list = {listed(gradient, out)};
  EXPECT_EQ(standardize(list, off, backend_, NonFinite::kSkipTensor, 10), std::vector<double>{5});
  EXPECT_EQ(out.values(), (std::vector<double>{3, 4}));
}

TEST_P(StandardizerTest, FollowsGradientsThatMoveAndListsThatChange) {
  Standardizer standardizer({.norm_epsilon = 0}, backend_);
  DeviceTensor a(backend_, Dtype::kFloat32, {2});
  DeviceTensor b(backend_, Dtype::kFloat32, {2});
  DeviceTensor c(backend_, Dtype::kFloat32, {4});
  const auto fill = [&] {
    a.set(std::vector<double>{3, 4});
    b.set(std::vector<double>{-8, 6});
    c.set(std::vector<double>{2, 0, 0, 0});
  };
  // The third list is the first with its two gradients swapped.
  for (const std::vector<StandardizeTensor>& list :
       {std::vector{listed(a, a), listed(b, b)}, std::vector{listed(c, c)},
        std::vector{listed(b, b), listed(a, a)}, std::vector{listed(a, a), listed(b, b)}}) {
    fill();
    standardizer.run(list);
    if (list.size() == 1) {
      EXPECT_EQ(c.values(), (std::vector<double>{1, 0, 0, 0}));
      EXPECT_EQ(standardizer.gradient_norms(), std::vector<double>{2});
      continue;
    }
    EXPECT_THAT(a.values(), ::testing::Pointwise(::testing::DoubleNear(1e-7), {0.6, 0.8}));
    EXPECT_THAT(b.values(), ::testing::Pointwise(::testing::DoubleNear(1e-7), {-0.8, 0.6}));
    const bool a_first = list[0].gradient == a.data();
    EXPECT_EQ(standardizer.gradient_norms(),
              (a_first ? std::vector<double>{5, 10} : std::vector<double>{10, 5}));
  }
}

// A plan that was made for a list does not serve a list with another shape, order or type.
TEST_P(StandardizerTest, FollowsEveryPropertyOfATensorThatChanges) {
  const DeviceTensor gradient(backend_, Dtype::kFloat32, {6}, random_values(1, 6));
  const DeviceTensor narrow(backend_, Dtype::kBFloat16, {6}, random_values(2, 6));
  DeviceTensor result(backend_, Dtype::kFloat32, {6});
  const auto standardized = [&](Standardizer& standardizer, const StandardizeTensor& tensor) {
    result.set(std::vector<double>(6, 0.0));
    standardizer.run(std::vector{tensor});
    return result.bytes();
  };
  StandardizeTensor tensor = listed(gradient, result);
  tensor.shape = {2, 3};
  const std::function<void(StandardizeTensor&)> changes[] = {
      [](StandardizeTensor& each) { each.shape = {3, 2}; },
      [](StandardizeTensor& each) { each.strides = {1, 2}; },
      [&](StandardizeTensor& each) {
        each.dtype = Dtype::kBFloat16;
        each.gradient = narrow.data();
      }};
  for (const auto& change : changes) {
    StandardizeTensor changed = tensor;
    change(changed);
    Standardizer kept({}, backend_);
    Standardizer fresh({}, backend_);
    const std::string before = standardized(kept, tensor);
    const std::string after = standardized(fresh, changed);
    EXPECT_NE(after, before);
    EXPECT_EQ(standardized(kept, changed), after);
    EXPECT_EQ(standardized(kept, tensor), before);
  }
}

TEST_P(StandardizerTest, AGradientListedTwiceIsStandardizedOnce) {
  const DeviceTensor gradient(backend_, Dtype::kFloat64, {2}, std::vector<double>{3, 4});
  DeviceTensor other(backend_, Dtype::kFloat64, {2}, std::vector<double>{0, 2});
  Standardizer standardizer({.norm_epsilon = 5}, backend_);
  standardizer.run(
      std::vector{listed(gradient, gradient), listed(other, other), listed(gradient, gradient)});
  EXPECT_THAT(gradient.values(), ::testing::Pointwise(::testing::DoubleNear(1e-15), {0.3, 0.4}));
  EXPECT_EQ(standardizer.gradient_norms(), (std::vector<double>{5, 2, 5}));
}

TEST_P(StandardizerTest, NonFiniteGradientsByPolicy) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const NonFinite policy : {NonFinite::kSkipTensor, NonFinite::kSkipStep, NonFinite::kThrow}) {
    const DeviceTensor good(backend_, Dtype::kFloat32, {2}, std::vector<double>{3, 4});
    const DeviceTensor bad(backend_, Dtype::kFloat32, {2}, std::vector<double>{1, infinity});
    Standardizer standardizer({.norm_epsilon = 0}, backend_, policy);
    std::vector<StandardizeTensor> list = {listed(good, good), listed(bad, bad)};
    list[1].name = "bad";
    const auto act = [&] {
      standardizer.run(list);
      standardizer.status();
    };
    if (policy == NonFinite::kThrow) {
      EXPECT_THAT(test::message_of<NonFiniteError>(act), ::testing::HasSubstr("'bad'"));
    } else {
      act();
      EXPECT_EQ(standardizer.status().skipped_tensors, policy == NonFinite::kSkipTensor ? 1 : 0);
    }
    EXPECT_EQ(bad.values(), (std::vector<double>{1, infinity}));
    EXPECT_EQ(good.values()[0] < 1, policy == NonFinite::kSkipTensor);
  }
}

TEST_P(StandardizerTest, RefusesWhatItCannotDo) {
  DeviceTensor a(backend_, Dtype::kFloat32, {4}, std::vector<double>{1, 2, 3, 4});
  const DeviceTensor b(backend_, Dtype::kFloat32, {4}, std::vector<double>{5, 6, 7, 8});
  Standardizer standardizer({}, backend_);
  std::vector<StandardizeTensor> list = {listed(a, a), listed(b, a)};
  list[1].name = "second";
  const auto refused = [&] {
    return test::message_of<std::invalid_argument>([&] { standardizer.run(list); });
  };
  EXPECT_THAT(refused(),
              ::testing::HasSubstr(
                  "'second': wanted the same gradient, shape, strides, type and shard as '0'"));
  list[1].gradient = a.data();
  list[1].shard = Shard{.whole_shape = {8}, .offset = {4}, .cut_axes = {0}};
  EXPECT_THAT(refused(), ::testing::HasSubstr("wanted the same gradient"));
  list[1] = listed(b, a);
  list[1].name = "second";
  list[1].destination = static_cast<std::byte*>(a.data()) + 8;
  EXPECT_THAT(refused(), ::testing::HasSubstr("share memory"));
  list[1].destination = nullptr;
  EXPECT_THAT(refused(), ::testing::HasSubstr("'second': wanted a gradient and a destination"));
  EXPECT_EQ(a.values(), (std::vector<double>{1, 2, 3, 4}));
}

}  // namespace
}  // namespace sing
