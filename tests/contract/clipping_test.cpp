// Checks clip_norm on every backend: a step with it is a step on gradients that
// torch.nn.utils.clip_grad_norm_ clipped (docs/algorithm.md, eq. 30).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/contract/agreement.hpp"
#include "tests/contract/model.hpp"
#include "tests/contract/rule_variants.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/same_bytes.hpp"
#include "tests/support/trajectory.hpp"

namespace sing {
namespace {

using test::bare_rule;
using test::DeviceTensor;
using test::expect_values;
using test::kHandTolerance;
using test::Model;
using test::Types;
using test::Values;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Types kFloat32{Dtype::kFloat32, Dtype::kFloat32};

// SGD with learning rate 1 without decay: a parameter that starts at 0 becomes the negative
// gradient.
Options plain_sgd(std::optional<double> clip_norm) {
  Options options = bare_rule(Sgd{.learning_rate = 1});
  options.clip_norm = clip_norm;
  return options;
}

// Tensors that start at 0 and their gradients, all of one type, in groups of one tensor each.
class Tensors {
 public:
  Tensors(const std::shared_ptr<Backend>& backend, const Options& options,
          const std::vector<Values>& gradients, Dtype dtype = Dtype::kFloat64)
      : optimizer_(options, backend) {
    for (const Values& values : gradients) {
      const std::vector<std::int64_t> shape{static_cast<std::int64_t>(values.size())};
      parameters_.emplace_back(backend, dtype, shape);
      gradients_.emplace_back(backend, dtype, shape, values);
    }
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      optimizer_.add_group({parameters_[i].parameter(std::to_string(i), gradients_[i])});
    }
  }

  Optimizer& optimizer() { return optimizer_; }
  Values values(std::size_t tensor) const { return parameters_[tensor].values(); }

  void step(double loss_scale = 1) {
    optimizer_.step(loss_scale);
    optimizer_.status();
  }

 private:
  std::vector<DeviceTensor> parameters_, gradients_;
  Optimizer optimizer_;
};

class Clipping : public test::BackendTest {};
SING_ON_BACKENDS(Clipping, test::backend_kinds());

// The gradients have norm √(3² + 4² + 12²) = 13 together.
const std::vector<Values> kThirteen = {{3, 4}, {-12}};

TEST_P(Clipping, TheNormOfAllGradientsTogetherIsReduced) {
  for (const NonFinite policy :
       {NonFinite::kSkipTensor, NonFinite::kSkipStep, NonFinite::kThrow, NonFinite::kPassThrough}) {
    Options options = plain_sgd(6.5);
    options.non_finite = policy;
    Tensors run(backend_, options, kThirteen);
    run.step();
    const double factor = 6.5 / (13 + 1e-6);
    expect_values(run.values(0), {-3 * factor, -4 * factor}, kHandTolerance);
    expect_values(run.values(1), {12 * factor}, kHandTolerance);
    EXPECT_EQ(run.optimizer().gradient_norms(), (std::vector<double>{5, 12}));
  }
}

TEST_P(Clipping, ASmallerNormIsLeftAlone) {
  Tensors run(backend_, plain_sgd(13.1), kThirteen);
  run.step();
  EXPECT_EQ(run.values(0), (Values{-3, -4}));
  EXPECT_EQ(run.values(1), (Values{12}));
}

// A group that does not clip counts but is not clipped, and each group has a limit of its own; a
// tensor without a gradient does not count.
TEST_P(Clipping, EveryGroupHasItsLimitForTheNormOfAll) {
  Tensors run(backend_, plain_sgd(std::nullopt), {{3}, {4}, {12}, {100}});
  run.optimizer().set_option(0, "clip_norm", 6.5);
  run.optimizer().set_option(1, "clip_norm", 1.3);
  run.optimizer().set_gradient(3, nullptr);
  run.step();
  expect_values(run.values(0), {-3 * 6.5 / (13 + 1e-6)}, kHandTolerance);
  expect_values(run.values(1), {-4 * 1.3 / (13 + 1e-6)}, kHandTolerance);
  EXPECT_EQ(run.values(2), (Values{-12}));
  EXPECT_EQ(run.values(3), (Values{0}));
}

TEST_P(Clipping, TheNormIsThatOfTheRawGradientsWithoutTheLossScale) {
  Tensors run(backend_, plain_sgd(6.5), {{3 * 1024, 4 * 1024}, {-12 * 1024}});
  run.step(1024);
  const double factor = 6.5 / (13 + 1e-6);
  expect_values(run.values(0), {-3 * factor, -4 * factor}, kHandTolerance);

  // The rows of the gradient have the means 3 and 2; its norm is 6, that of the centered rows √10.
  Options options = plain_sgd(3);
  options.standardize.centralize = true;
  test::Trajectory path(backend_, options, {2, 2}, {0, 0, 0, 0});
  expect_values(path.take({1, 5, 1, 3}),
                {3 / (6 + 1e-6) * 2, -3 / (6 + 1e-6) * 2, 3 / (6 + 1e-6), -3 / (6 + 1e-6)},
                kHandTolerance);
}

TEST_P(Clipping, ZeroGradientsStayZero) {
  Tensors run(backend_, plain_sgd(1e-30), {{0, 0}, {0}});
  run.step();
  EXPECT_EQ(run.values(0), (Values{0, 0}));
  EXPECT_EQ(run.values(1), (Values{0}));
}

// The squares of the largest norms are just below the largest numbers of the type.
TEST_P(Clipping, AHugeNormIsReducedToTheLimit) {
  const auto expect_unit = [&](double huge, Dtype dtype, double tolerance) {
    Tensors run(backend_, plain_sgd(1), {{huge, 0}, {0, -huge}}, dtype);
    run.step();
    expect_values(run.values(0), {-std::sqrt(0.5), 0}, tolerance);
    expect_values(run.values(1), {0, std::sqrt(0.5)}, tolerance);
  };
  expect_unit(1e19, Dtype::kFloat32, 1e-6);
  expect_unit(1e153, Dtype::kFloat64, 1e-14);
}

// Non-finite gradients never count: the others are clipped as if there were none.
TEST_P(Clipping, NonFiniteGradientsDoNotCount) {
  for (const double bad : {kNan, kInfinity, 1e25}) {
    const std::vector<Values> gradients = {{3, 4}, {1, bad, 1}, {-12}};
    const double factor = 6.5 / (13 + 1e-6);
    for (const NonFinite policy : {NonFinite::kSkipTensor, NonFinite::kPassThrough}) {
      Options options = plain_sgd(6.5);
      options.non_finite = policy;
      Tensors run(backend_, options, gradients, Dtype::kFloat32);
      run.step();
      expect_values(run.values(0), {-3 * factor, -4 * factor}, 1e-6);
      expect_values(run.values(2), {12 * factor}, 1e-6);
      if (policy == NonFinite::kSkipTensor) {
        EXPECT_EQ(run.values(1), (Values{0, 0, 0}));
      }
    }
    for (const NonFinite policy : {NonFinite::kSkipStep, NonFinite::kThrow}) {
      Options options = plain_sgd(6.5);
      options.non_finite = policy;
      Tensors run(backend_, options, gradients, Dtype::kFloat32);
      test::message_of<NonFiniteError>([&] {
        run.step();
        throw NonFiniteError("skipped");
      });
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        EXPECT_EQ(run.values(i), Values(gradients[i].size(), 0.0));
      }
    }
  }
}

TEST_P(Clipping, NormalizedGradientsDoNotChange) {
  for (const Normalize normalize : {Normalize::kUnitNorm, Normalize::kSizeCalibrated}) {
    std::vector<std::vector<std::string>> results;
    for (const std::optional<double> clip_norm : {std::optional<double>(), std::optional(0.25)}) {
      Options options{.rule = test::strong_rule<AdamW>()};
      options.standardize.normalize = normalize;
      options.clip_norm = clip_norm;
      Model model(backend_, {{3, 7}, {9}, {15, 6'000}}, kFloat32, options);
      model.take_step(0);
      model.take_step(1);
      results.push_back(model.all_bytes());
    }
    EXPECT_TRUE(test::same_bytes(results[0], results[1]));
  }
}

TEST_P(Clipping, ACallerMayKnowTheNormOfMoreGradients) {
  Tensors run(backend_, plain_sgd(6.5), kThirteen);
  run.optimizer().set_total_norm(26);
  run.step();
  expect_values(run.values(1), {12 * 6.5 / (26 + 1e-6)}, kHandTolerance);
  run.optimizer().set_total_norm(std::nullopt);
  run.step();
  expect_values(run.values(1), {12 * 6.5 / (26 + 1e-6) + 12 * 6.5 / (13 + 1e-6)}, kHandTolerance);
  EXPECT_THAT(
      test::message_of<std::invalid_argument>([&] { run.optimizer().set_total_norm(kNan); }),
      ::testing::HasSubstr("[optimizer] wanted a total_norm of at least 0, got nan"));
}

// The gradients are multiplied by hand by the same factor, computed from all of them.
TEST_P(Clipping, IsTheSameBeforeEveryRule) {
  constexpr double kLimit = 0.75;
  const std::vector<std::int64_t> shapes[] = {{5, 7}, {3}, {4, 2}};
  for (const test::RuleVariant& variant : test::rule_variants()) {
    SCOPED_TRACE(variant.name);
    for (const bool centralize : {false, true}) {
      Options clipping = bare_rule(variant.rule);
      clipping.standardize.centralize = centralize;
      clipping.lookahead = Lookahead{.period = 2};
      const Options plain = clipping;
      clipping.clip_norm = kLimit;
      std::vector<DeviceTensor> parameters, gradients;
      Optimizer inside(clipping, backend_);
      Optimizer before(plain, backend_);
      for (std::size_t i = 0; i < 6; ++i) {
        const auto& shape = shapes[i % 3];
        parameters.emplace_back(backend_, Dtype::kFloat64, shape,
                                test::random_values(i % 3, product(shape)));
        gradients.emplace_back(backend_, Dtype::kFloat64, shape);
      }
      for (std::size_t i = 0; i < 3; ++i) {
        const std::string name = std::to_string(i);
        inside.add_group({parameters[i].parameter(name, gradients[i])});
        before.add_group({parameters[i + 3].parameter(name, gradients[i + 3])});
      }
      for (std::uint64_t step = 0; step < 3; ++step) {
        double squares = 0;
        std::vector<Values> raw;
        for (std::size_t i = 0; i < 3; ++i) {
          raw.push_back(test::random_values(10 + 3 * step + i, product(shapes[i])));
          for (const double value : raw[i]) {
            squares += value * value;
          }
        }
        const double factor = std::min(1.0, kLimit / (std::sqrt(squares) + 1e-6));
        EXPECT_LT(factor, 1);
        for (std::size_t i = 0; i < 3; ++i) {
          gradients[i].set(raw[i]);
          for (double& value : raw[i]) {
            value *= factor;
          }
          gradients[i + 3].set(raw[i]);
        }
        inside.step();
        before.step();
      }
      for (std::size_t i = 0; i < 3; ++i) {
        expect_values(parameters[i].values(), parameters[i + 3].values(), 1e-12);
      }
    }
  }
}

// Every backend agrees with the reference in every type, with tensors of many chunks too.
TEST_P(Clipping, AgreesWithTheReference) {
  const auto expect_reference = [&](const Rule& rule, const Types& types,
                                    const test::Shape& large) {
    Options options = bare_rule(rule);
    options.standardize.centralize = true;
    options.clip_norm = 2;
    std::vector<test::Shape> shapes = test::small_shapes();
    shapes.push_back(large);
    Model model(backend_, shapes, types, options);
    Model reference(make_reference_backend(), shapes, types, options);
    test::expect_agreement(model, reference, types, 3);
  };
  for (const Types& types : test::all_types()) {
    SCOPED_TRACE(types.name());
    expect_reference(test::strong_rule<AdamW>(), types, {300, 333});
  }
  for (const test::RuleVariant& variant : test::all_rules()) {
    SCOPED_TRACE(variant.name);
    expect_reference(variant.rule, kFloat32, {40'007});
  }
}

TEST_P(Clipping, AResumedRunClipsAsBefore) {
  Options options = bare_rule(test::strong_rule<AdamW>());
  options.clip_norm = 0.5;
  const std::vector<test::Shape> shapes{{3, 7}, {9}};
  Model first(backend_, shapes, kFloat32, options);
  first.take_step(0);
  options.clip_norm.reset();
  Model resumed(backend_, shapes, kFloat32, options);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    resumed.parameter(i).set_bytes(first.parameter(i).bytes());
  }
  resumed.optimizer().load_bytes(first.optimizer().save_bytes());
  EXPECT_EQ(resumed.optimizer().options(0).clip_norm, 0.5);
  first.take_step(1);
  resumed.take_step(1);
  EXPECT_TRUE(test::same_bytes(first.all_bytes(), resumed.all_bytes()));
}

}  // namespace
}  // namespace sing
