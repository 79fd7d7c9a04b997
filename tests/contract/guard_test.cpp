// Checks steps with gradients that have nothing to normalize or lie at the ends of their type's
// range.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/contract/agreement.hpp"
#include "tests/contract/model.hpp"
#include "tests/contract/rule_variants.hpp"
#include "tests/support/backends.hpp"

namespace sing {
namespace {

using test::DeviceTensor;
using test::Shape;

constexpr Dtype kFloatingTypes[] = {Dtype::kFloat32, Dtype::kFloat64, Dtype::kBFloat16,
                                    Dtype::kFloat16};

struct Extremes {
  double subnormal;  // smallest positive
  double normal;     // smallest normal
  double largest;
};

Extremes extremes_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat64:
      return {0x1p-1074, 0x1p-1022, std::numeric_limits<double>::max()};
    case Dtype::kBFloat16:
      return {0x1p-133, 0x1p-126, 0x1.fep127};
    case Dtype::kFloat16:
      return {0x1p-24, 0x1p-14, 65504};
    default:
      return {0x1p-149, 0x1p-126, std::numeric_limits<float>::max()};
  }
}

class Guard : public test::BackendTest {
 protected:
  struct Result {
    std::vector<double> parameter;  // starts at 1
    TensorProgress progress;
    OptimizerProgress whole;
  };

  Result step(const Options& options, Dtype dtype, const Shape& shape,
              const std::vector<double>& gradient) {
    DeviceTensor parameter(backend_, dtype, shape,
                           std::vector<double>(static_cast<std::size_t>(product(shape)), 1.0));
    const DeviceTensor given(backend_, dtype, shape, gradient);
    Optimizer optimizer({parameter.parameter("tensor", given)}, options, backend_);
    optimizer.step();
    EXPECT_TRUE(parameter.sentinels_intact());
    EXPECT_EQ(given.values(), DeviceTensor(backend_, dtype, shape, gradient).values());
    return {parameter.values(), optimizer.tensor_progress()[0], optimizer.status()};
  }

  // Checks that the parameter does not change (without a host rule it is the gradient), but the
  // step counts.
  void expect_zero_step(const Options& options, Dtype dtype, const Shape& shape,
                        const std::vector<double>& gradient) {
    const Result result = step(options, dtype, shape, gradient);
    const double expected = std::holds_alternative<Gradient>(options.rule) ? 0 : 1;
    for (const double value : result.parameter) {
      ASSERT_EQ(value, expected) << name_of(dtype);
    }
    EXPECT_EQ(result.progress.steps, 1);
    EXPECT_EQ(result.progress.non_finite, 0);
    EXPECT_EQ(result.whole.skipped_tensors, 0);
  }

  void expect_finite(const std::vector<double>& values) {
    for (const double value : values) {
      ASSERT_TRUE(std::isfinite(value));
    }
  }
};
SING_ON_BACKENDS(Guard, test::backend_kinds());

// Returns all rules without decay, with moments from zero: a zero gradient must not move the
// parameter.
std::vector<test::RuleVariant> rules_without_decay() {
  std::vector<test::RuleVariant> rules = test::rule_variants();
  for (test::RuleVariant& variant : rules) {
    std::visit(
        [](auto& rule) {
          rule.weight_decay = 0;
          if constexpr (requires { rule.initial_moment; }) {
            rule.initial_moment = 0;
          }
        },
        variant.rule);
  }
  return rules;
}

TEST_P(Guard, RowConstantGradientsAreZero) {
  for (const test::RuleVariant& variant : rules_without_decay()) {
    SCOPED_TRACE(variant.name);
    Options options;
    options.rule = variant.rule;
    for (const Dtype dtype : kFloatingTypes) {
      // 0.1 and 0.3 are not exact in any binary type, so means have rounding noise.
      std::vector<double> rows(3 * 700, 0.1);
      std::fill(rows.begin() + 700, rows.end(), 0.3);
      expect_zero_step(options, dtype, {3, 700}, rows);
      expect_zero_step(options, dtype, {3, 7, 100}, rows);
    }
  }
}

// A row of more than a chunk is measured in pieces, whose moments are combined.
TEST_P(Guard, ALongRowConstantGradientIsZero) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat64}) {
    expect_zero_step({}, dtype, {1, 70'001}, std::vector<double>(70'001, 0.1));
  }
}

// One of 2100 elements is the next float above 0.1: 3.5e-9 of the norm, below 8 ε.
TEST_P(Guard, NoiseOfRoundingCountsAsConstant) {
  std::vector<double> rows(3 * 700, 0.1F);
  rows[1234] = std::nextafter(0.1F, 1.0F);
  expect_zero_step({}, Dtype::kFloat32, {3, 700}, rows);
}

// A change of 2⁻¹⁰ of the value in one element is signal: the result must have unit norm. The row
// mean, a float32, rounds at 2⁻²⁴ of the value, 2⁻¹⁴ of the signal.
TEST_P(Guard, SignalAboveTheNoiseIsNormalized) {
  Options options;
  options.rule = Sgd{.learning_rate = 1};
  options.lookahead.reset();
  options.standardize.norm_epsilon = 0;
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat64}) {
    std::vector<double> rows(3 * 700, 0.125);
    rows[1234] *= 1 + 0x1p-10;
    const Result result = step(options, dtype, {3, 700}, rows);
    EXPECT_NEAR(1 - result.parameter[1234], std::sqrt(1 - 1.0 / 700), 0x1p-14);
  }
}

TEST_P(Guard, ZeroGradientsAreZero) {
  for (const test::RuleVariant& variant : rules_without_decay()) {
    SCOPED_TRACE(variant.name);
    for (const Normalize normalize :
         {Normalize::kOff, Normalize::kUnitNorm, Normalize::kSizeCalibrated}) {
      for (const double norm_epsilon : {0.0, 1e-8}) {
        Options options;
        options.rule = variant.rule;
        options.standardize.normalize = normalize;
        options.standardize.norm_epsilon = norm_epsilon;
        if (std::holds_alternative<AdamW>(variant.rule)) {
          std::get<AdamW>(options.rule).epsilon = 1e-8;
        }
        for (const Dtype dtype : kFloatingTypes) {
          expect_zero_step(options, dtype, {3, 7}, std::vector<double>(21));
          expect_zero_step(options, dtype, {7}, std::vector<double>(7));
          expect_zero_step(options, dtype, {}, {0});
        }
      }
    }
  }
}

TEST_P(Guard, OneElementBecomesItsSign) {
  Options options;
  options.rule = Sgd{.learning_rate = 0.25};
  options.lookahead.reset();
  options.standardize.norm_epsilon = 0;
  for (const Dtype dtype : kFloatingTypes) {
    EXPECT_EQ(step(options, dtype, {}, {0.5}).parameter[0], 0.75);
    EXPECT_EQ(step(options, dtype, {1}, {-3}).parameter[0], 1.25);
  }
}

TEST_P(Guard, ATrailingSizeOfOneNeverTrains) {
  for (const Dtype dtype : kFloatingTypes) {
    expect_zero_step({}, dtype, {5, 1}, {1, -2, 3, 0.3, 5});
    expect_zero_step({}, dtype, {1, 1}, {0.7});
    expect_zero_step({}, dtype, {5, 1, 1, 1}, {1, -2, 3, 0.3, 5});
  }
}

TEST_P(Guard, ATrailingSizeOfOneTrainsWithoutCentralization) {
  Options options;
  options.rule = Sgd{.learning_rate = 1};
  options.lookahead.reset();
  options.standardize.centralize = false;
  EXPECT_NEAR(step(options, Dtype::kFloat64, {2, 1}, {3, 4}).parameter[1], 1 - 0.8, 1e-8);
}

TEST_P(Guard, EmptyTensorsTakePart) {
  for (const test::RuleVariant& variant : test::all_rules()) {
    Options options;
    options.rule = variant.rule;
    for (const Dtype dtype : kFloatingTypes) {
      for (const Shape& shape : {Shape{0}, Shape{0, 4}, Shape{4, 0}, Shape{2, 0, 3}}) {
        const Result result = step(options, dtype, shape, {});
        EXPECT_TRUE(result.parameter.empty());
        EXPECT_EQ(result.whole.skipped_tensors, 0);
      }
    }
  }
}

// Returns whether a rule limits the length of a tensor's step rather than that of each element.
bool moves_whole_tensors(const Rule& rule) {
  return std::holds_alternative<Lamb>(rule) || std::holds_alternative<Lars>(rule) ||
         std::holds_alternative<Muon>(rule);
}

// Gradients at the bottom of the range have squares that may be 0 or subnormal: all results are
// finite, and the step is no larger than that of a gradient of norm 1.
TEST_P(Guard, SubnormalGradientsStayHarmless) {
  for (const test::RuleVariant& variant : test::all_rules()) {
    SCOPED_TRACE(variant.name);
    Options options;
    options.rule = variant.rule;
    std::visit([](auto& rule) { rule.weight_decay = 0; }, options.rule);
    for (const Dtype dtype : kFloatingTypes) {
      for (const double norm_epsilon : {0.0, 1e-8}) {
        options.standardize.norm_epsilon = norm_epsilon;
        for (const double size : {extremes_of(dtype).subnormal, extremes_of(dtype).normal}) {
          for (const Shape& shape : {Shape{8}, Shape{2, 4}}) {
            const Result result =
                step(options, dtype, shape, {size, -size, size, size, -size, size, -size, -size});
            expect_finite(result.parameter);
            // Without a host rule the parameter is the gradient, with a norm of at most 1.
            const bool has_host = !std::holds_alternative<Gradient>(options.rule);
            // With a host rule, an element moves by the rate (NAdam: 1.06 times the rate), or the
            // tensor by the rate times its norm.
            const double most = has_host ? 0.0625 * std::sqrt(8.0) * 1.1 : 1.01;
            const double most_of_an_element =
                !has_host ? 1 : 0.0625 * (std::holds_alternative<NAdam>(options.rule) ? 1.1 : 1.05);
            double squares = 0;
            for (const double value : result.parameter) {
              const double moved = std::abs(has_host ? value - 1 : value);
              squares += moved * moved;
              if (!moves_whole_tensors(options.rule)) {
                EXPECT_LE(moved, most_of_an_element) << name_of(dtype) << " " << size;
              }
            }
            EXPECT_LE(std::sqrt(squares), most) << name_of(dtype) << " " << size;
            EXPECT_EQ(result.progress.non_finite, 0);
          }
        }
      }
    }
  }
}

// ‖g‖² = 8 · (1e19/4)² = 5e37 fits float32; ten times the gradient gives 5e39, which does not.
TEST_P(Guard, AGradientWhoseSquaresOverflowFloat32IsNotFinite) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kBFloat16}) {
    for (const Shape& shape : {Shape{8}, Shape{2, 4}}) {
      const double below = 2.5e18;
      const Result fits =
          step({}, dtype, shape, {below, -below, below, below, -below, below, -below, -below});
      EXPECT_EQ(fits.progress.steps, 1) << name_of(dtype);
      EXPECT_EQ(fits.progress.non_finite, 0);
      expect_finite(fits.parameter);
      EXPECT_NE(fits.parameter[0], 1);
      const double above = 2.5e19;
      const Result overflows =
          step({}, dtype, shape, {above, -above, above, above, -above, above, -above, -above});
      EXPECT_EQ(overflows.progress.steps, 0) << name_of(dtype);
      EXPECT_EQ(overflows.progress.non_finite, 1);
      EXPECT_EQ(overflows.whole.skipped_tensors, 1);
      EXPECT_EQ(overflows.parameter, std::vector<double>(8, 1.0));
    }
  }
}

// The sum over many blocks may overflow even if no block does.
TEST_P(Guard, SquaresThatOverflowOnlyTogetherAreNotFinite) {
  const Shape shape{10, 7000};
  std::vector<double> gradient(70'000, 1e17);  // 1e34 · 7e4 = 7e38
  for (std::size_t i = 0; i < gradient.size(); i += 2) {
    gradient[i] = -1e17;
  }
  EXPECT_EQ(step({}, Dtype::kFloat32, shape, gradient).whole.skipped_tensors, 1);
  for (double& value : gradient) {
    value *= 0.25;  // 4e37
  }
  EXPECT_EQ(step({}, Dtype::kFloat32, shape, gradient).whole.skipped_tensors, 0);
}

TEST_P(Guard, TheLargestGradientsOfEachType) {
  for (const Dtype dtype : kFloatingTypes) {
    const double largest = extremes_of(dtype).largest;
    for (const Shape& shape : {Shape{4}, Shape{2, 2}}) {
      const Result result = step({}, dtype, shape, {largest, -largest, largest, -largest});
      // Half precision ends at 65504, whose square fits; the others overflow and are skipped.
      const bool fits = dtype == Dtype::kFloat16;
      EXPECT_EQ(result.progress.non_finite, fits ? 0 : 1) << name_of(dtype);
      expect_finite(result.parameter);
      EXPECT_EQ(result.parameter[0] != 1, fits) << name_of(dtype);
    }
  }
}

TEST_P(Guard, InfinityAndNanAreNotFiniteWhereverTheyStand) {
  for (const Dtype dtype : kFloatingTypes) {
    for (const double bad :
         {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
          std::numeric_limits<double>::quiet_NaN()}) {
      for (const Shape& shape : {Shape{129}, Shape{3, 43}}) {
        for (const std::size_t place : {0U, 1U, 63U, 64U, 127U, 128U}) {
          std::vector<double> gradient = test::random_values(11, 129);
          gradient[place] = bad;
          DeviceTensor parameter(backend_, dtype, shape, test::random_values(12, 129));
          const std::string before = parameter.bytes();
          const DeviceTensor given(backend_, dtype, shape, gradient);
          Optimizer optimizer({parameter.parameter("tensor", given)}, {}, backend_);
          optimizer.step();
          ASSERT_EQ(parameter.bytes(), before) << name_of(dtype) << " at " << place;
          ASSERT_EQ(optimizer.tensor_progress()[0].non_finite, 1);
          ASSERT_EQ(optimizer.tensor_progress()[0].steps, 0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace sing
