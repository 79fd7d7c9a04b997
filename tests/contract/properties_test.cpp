// Checks properties of every standardized gradient. A step of gradient descent at rate 1 from zero
// makes them visible: the parameter is then the negative standardized gradient.
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
using test::random_values;
using test::Shape;

Options observer() {
  Options options;
  options.rule = Sgd{.learning_rate = 1};
  options.lookahead.reset();
  return options;
}

double norm_of(const std::vector<double>& values) {
  long double sum = 0;
  for (const double value : values) {
    sum += static_cast<long double>(value) * value;
  }
  return static_cast<double>(std::sqrt(sum));
}

class Properties : public test::BackendTest {
 protected:
  std::vector<double> standardized(const Options& options, Dtype dtype, const Shape& shape,
                                   const std::vector<double>& gradient, double loss_scale = 1) {
    DeviceTensor parameter(backend_, dtype, shape);
    const DeviceTensor given(backend_, dtype, shape, gradient);
    Optimizer optimizer({parameter.parameter("tensor", given)}, options, backend_);
    optimizer.step(loss_scale);
    std::vector<double> values = parameter.values();
    for (double& value : values) {
      value = -value;
    }
    EXPECT_TRUE(parameter.sentinels_intact());
    return values;
  }
};
SING_ON_BACKENDS(Properties, test::backend_kinds());

std::vector<Shape> property_shapes() {
  return {{},           {1},      {7},        {3, 7},      {12, 64},
          {4, 3, 3, 3}, {31, 33}, {300, 333}, {2, 40'007}, {70'001}};
}

// A norm over n elements in lanes and blocks has a rounding error below 32 units; the stored result
// rounds once more in the parameter's type.
double norm_tolerance(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat64:
      return 32 * 0x1p-53;
    case Dtype::kBFloat16:
      return 0x1p-8;
    case Dtype::kFloat16:
      return 0x1p-10;
    default:
      return 32 * 0x1p-24;
  }
}

TEST_P(Properties, TheNormIsOne) {
  Options options = observer();
  options.standardize.norm_epsilon = 0;
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat64, Dtype::kBFloat16}) {
    for (const Shape& shape : property_shapes()) {
      EXPECT_NEAR(norm_of(standardized(options, dtype, shape, random_values(3, product(shape)))), 1,
                  norm_tolerance(dtype))
          << name_of(dtype) << " size " << product(shape);
    }
  }
}

TEST_P(Properties, TheSizeCalibratedNormIsTheRootOfTheSize) {
  Options options = observer();
  options.standardize.norm_epsilon = 0;
  options.standardize.normalize = Normalize::kSizeCalibrated;
  options.standardize.reference_size = 100;
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat64, Dtype::kBFloat16, Dtype::kFloat16}) {
    for (const Shape& shape : property_shapes()) {
      const double target = std::sqrt(static_cast<double>(product(shape)) / 100);
      EXPECT_NEAR(norm_of(standardized(options, dtype, shape, random_values(3, product(shape)))),
                  target, target * norm_tolerance(dtype))
          << name_of(dtype) << " size " << product(shape);
    }
  }
}

TEST_P(Properties, TheEpsilonIsAddedToTheNorm) {
  Options options = observer();
  options.standardize.norm_epsilon = 5;
  // (3, 4) has norm 5, so the result has norm 5 / (5 + 5).
  const auto values = standardized(options, Dtype::kFloat64, {2}, {3, 4});
  EXPECT_NEAR(values[0], 0.3, 1e-15);
  EXPECT_NEAR(values[1], 0.4, 1e-15);
}

TEST_P(Properties, RowsSumToZero) {
  for (const Normalize normalize : {Normalize::kOff, Normalize::kUnitNorm}) {
    Options options = observer();
    options.standardize.normalize = normalize;
    for (const Shape& shape : {Shape{3, 7}, Shape{12, 64}, Shape{4, 3, 3, 3}, Shape{300, 333}}) {
      for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(shape.size()); ++axis) {
        options.standardize.centralize_axis = axis;
        const Layout layout = make_layout(shape, axis);
        const auto values =
            standardized(options, Dtype::kFloat32, shape, random_values(4, layout.size));
        std::vector<double> sums(static_cast<std::size_t>(layout.rows));
        for (std::int64_t i = 0; i < layout.size; ++i) {
          sums[static_cast<std::size_t>(i / layout.inner % layout.rows)] +=
              values[static_cast<std::size_t>(i)];
        }
        // Each element is off by the mean's rounding and its own: 2 units of its size.
        const double bound =
            static_cast<double>(layout.row_length()) * 2 * 0x1p-24 * test::largest(values);
        EXPECT_LE(test::largest(sums), bound) << "axis " << axis << " of size " << layout.size;
      }
    }
  }
}

TEST_P(Properties, WithoutCentralizationTheDirectionIsKept) {
  Options options = observer();
  options.standardize.centralize = false;
  options.standardize.norm_epsilon = 0;
  const std::vector<double> gradient = random_values(5, 21);
  const auto values = standardized(options, Dtype::kFloat64, {3, 7}, gradient);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    EXPECT_NEAR(values[i], gradient[i] / norm_of(gradient), 1e-15);
  }
}

// The scales cover thirty orders of magnitude in float32 and six hundred in float64: only rounding
// changes the result. Powers of two change nothing at all.
TEST_P(Properties, TheScaleOfTheGradientDoesNotMatter) {
  Options options = observer();
  options.standardize.norm_epsilon = 0;
  struct Range {
    Dtype dtype;
    std::vector<int> exponents;
  };
  for (const Range& range :
       {Range{Dtype::kFloat32, {-50, -30, -7, 7, 30, 50}},
        Range{Dtype::kFloat64, {-450, -100, 100, 450}}, Range{Dtype::kBFloat16, {-50, -7, 7, 50}},
        Range{Dtype::kFloat16, {-4, 4, 10}}}) {
    for (const Shape& shape : {Shape{3, 7}, Shape{31, 33}, Shape{129}}) {
      std::vector<double> gradient = random_values(6, product(shape));
      for (double& value : gradient) {
        value = to_float(to_float16(static_cast<float>(value) + 1.5F));  // exact in every type
      }
      const auto expected = standardized(options, range.dtype, shape, gradient);
      for (const int exponent : range.exponents) {
        std::vector<double> scaled = gradient;
        for (double& value : scaled) {
          value = std::ldexp(value, exponent);
        }
        EXPECT_EQ(standardized(options, range.dtype, shape, scaled), expected)
            << name_of(range.dtype) << " by 2^" << exponent;
      }
    }
  }
}

// A loss scale is undone without normalization and has no effect with it.
TEST_P(Properties, TheLossScaleLeavesNoTrace) {
  for (const Normalize normalize : {Normalize::kOff, Normalize::kUnitNorm}) {
    Options options = observer();
    options.standardize.normalize = normalize;
    std::vector<double> gradient = random_values(8, 21);
    const auto expected = standardized(options, Dtype::kFloat64, {3, 7}, gradient);
    for (double& value : gradient) {
      value *= 1024;
    }
    const auto actual = standardized(options, Dtype::kFloat64, {3, 7}, gradient, 1024);
    EXPECT_LE(test::largest_difference(actual, expected), 1e-15);
  }
}

// Adding the same number to a row changes nothing, which is the purpose of centralization.
TEST_P(Properties, AnOffsetOfARowDoesNotMatter) {
  Options options = observer();
  options.standardize.norm_epsilon = 0;
  std::vector<double> gradient = random_values(9, 12 * 64);
  const auto expected = standardized(options, Dtype::kFloat64, {12, 64}, gradient);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] += 100.0 * static_cast<double>(i / 64);
  }
  // Offsets up to 1100 leave 1100 · 2⁻⁵³ of rounding in an element of size 1, norm 16.
  EXPECT_LE(test::largest_difference(standardized(options, Dtype::kFloat64, {12, 64}, gradient),
                                     expected),
            4 * 1100 * 0x1p-53 / 16);
}

// Adds a large common offset in float32, where one-pass formulas lose all digits. The elements
// k/1024 are exact when added to 4096 and have mean 0 in each row.
TEST_P(Properties, ALargeMeanDoesNotCancel) {
  Options options = observer();
  options.standardize.norm_epsilon = 0;
  const Shape shape{4, 2001};
  std::vector<double> pattern(4 * 2001);
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    pattern[i] = (static_cast<double>(i % 2001) - 1000) / 1024;
  }
  std::vector<double> shifted = pattern;
  for (double& value : shifted) {
    value += 4096;
  }
  const double norm = norm_of(pattern);
  const auto actual = standardized(options, Dtype::kFloat32, shape, shifted);
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    // The row mean, a float32 near 4096, is exact; only the rounding of the norm remains.
    ASSERT_NEAR(actual[i], pattern[i] / norm, 32 * 0x1p-24 / norm) << i;
  }
}

}  // namespace
}  // namespace sing
