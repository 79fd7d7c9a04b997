// Computes and checks the largest difference that a backend may have from the reference.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sing/base/message.hpp"
#include "tests/contract/model.hpp"
#include "tests/contract/rule_variants.hpp"

namespace sing::test {

inline double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double value : values) {
    result = std::max(result, std::abs(value));
  }
  return result;
}

inline double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double result = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    result = std::max(result, std::abs(a[i] - b[i]));
  }
  return result;
}

// Returns the unit roundoff u of the type that a backend computes in.
inline double roundoff(Dtype parameter) {
  return state_dtype(parameter) == Dtype::kFloat64 ? 0x1p-53 : 0x1p-24;
}

// The reference rounds only what it stores. In each step, a backend that computes in the state's
// type has
//   - two roundings of the parameter (its product with the decay, the difference) where the
//     reference has one: 3 u of the parameter;
//   - an update at the end of a chain: row mean and norm (sums in lanes and blocks: below 32 u of
//     the gradient's size), two moments, root, division, softplus (below 16 u), each of which a
//     rule may raise to the power of −1, ½ or 2, and a division by a denominator that is itself a
//     sum of differences: 256 u of the largest update, 1.5e-5 in float32.
inline constexpr double kParameterRoundings = 3;
inline constexpr double kUpdateRoundings = 256;
// Newton–Schulz multiplies an error along a small singular value by up to 3.4445 per iteration, by
// 485 in all, but errors along most singular vectors hardly grow: 8 times the roundings.
inline constexpr double kOrthogonalGrowth = 8;

struct Agreement {
  Dtype dtype;
  int steps;
  double update;       // largest update of the reference in one step
  bool is_orthogonal;  // the rule orthogonalizes matrices

  double of_parameter(double value) const {
    return steps * roundoff(dtype) *
           (kParameterRoundings * (std::abs(value) + update) +
            (is_orthogonal ? kOrthogonalGrowth : 1) * kUpdateRoundings * update);
  }
  // Returns the size of a 16-bit parameter that determines its spacing. Orthogonal updates are as
  // large in a late step as in the first, so a weight may have been rounded when it was larger.
  double size_16_bit(double value) const {
    return std::abs(value) + (is_orthogonal ? update : 0) + 1e-3;
  }
  double of_state(double size) const { return steps * roundoff(dtype) * kUpdateRoundings * size; }
};

// NaN agrees only with NaN.
inline void expect_close(const std::vector<double>& actual, const std::vector<double>& expected,
                         const Agreement& agreement, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (!std::isnan(expected[i]) || !std::isnan(actual[i])) {
      ASSERT_LE(std::abs(actual[i] - expected[i]), agreement.of_parameter(expected[i]))
          << what << " element " << i << ": " << actual[i] << " for " << expected[i];
    }
  }
}

// A 16-bit parameter without a master is rounded in each step. Where the two float32 results lie on
// either side of a midpoint, the rounded values differ by one unit from then on. Such elements are
// rare (the float32 error is below 1e-3 of a 16-bit unit per step), and no element is off by more
// than one unit per step. The smallest tensors may have a few more of them, because rules that use
// the parameter's root mean square propagate the difference.
inline void expect_close_16_bit(const std::vector<double>& actual,
                                const std::vector<double>& expected, const Agreement& agreement,
                                const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  const double unit = agreement.dtype == Dtype::kBFloat16 ? 0x1p-8 : 0x1p-11;
  std::size_t different = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double difference = std::abs(actual[i] - expected[i]);
    different += difference <= agreement.of_parameter(expected[i]) ? 0 : 1;
    const double size = agreement.size_16_bit(std::max(std::abs(expected[i]), std::abs(actual[i])));
    ASSERT_LE(difference, 2 * unit * agreement.steps * size)
        << what << " element " << i << ": " << actual[i] << " for " << expected[i];
  }
  EXPECT_LE(static_cast<double>(different),
            3 + 1e-2 * static_cast<double>(agreement.steps * actual.size()))
      << what;
}

// Takes the same steps with a model and the reference, and compares parameters, state and norms.
class ReferenceComparison {
 public:
  ReferenceComparison(Model& model, Model& reference, const Types& types)
      : model_(model), reference_(reference), types_(types), update_(model.count()) {}

  // Calls take_step(Model&) for both models.
  template <class TakeStep>
  void step(TakeStep take_step) {
    std::vector<std::vector<double>> before(model_.count());
    for (std::size_t i = 0; i < model_.count(); ++i) {
      before[i] = reference_.parameter(i).values();
    }
    take_step(model_);
    take_step(reference_);
    ++steps_;
    for (std::size_t i = 0; i < model_.count(); ++i) {
      update_[i] =
          std::max(update_[i], largest_difference(before[i], reference_.parameter(i).values()));
    }
  }

  void expect_agreement() {
    const Rule& rule = model_.optimizer().options(0).rule;
    const bool is_orthogonal = std::visit([]<class R>(const R&) { return kIsOrthogonal<R>; }, rule);
    for (std::size_t i = 0; i < model_.count(); ++i) {
      const Agreement agreement{types_.parameter, steps_, update_[i], is_orthogonal};
      (rounds_to_16_bit() ? expect_close_16_bit : expect_close)(
          model_.parameter(i).values(), reference_.parameter(i).values(), agreement,
          fmt::format("tensor {}", i));
      expect_state(i, agreement);
    }
    const std::vector<double> norms = model_.optimizer().gradient_norms();
    const std::vector<double> expected = reference_.optimizer().gradient_norms();
    for (std::size_t i = 0; i < norms.size(); ++i) {
      if (std::isfinite(expected[i])) {
        EXPECT_NEAR(norms[i], expected[i], 64 * roundoff(types_.parameter) * expected[i]) << i;
      } else {
        EXPECT_FALSE(std::isfinite(norms[i])) << i;
      }
    }
    model_.expect_sentinels();
  }

 private:
  bool rounds_to_16_bit() const { return is_low_precision(types_.parameter); }

  void expect_state(std::size_t i, const Agreement& agreement) {
    const bool moments_see_parameters = std::visit(
        [](const auto& rule) { return has_l2_decay(rule); }, model_.optimizer().options(0).rule);
    const std::vector<StateTensor> actual = model_.optimizer().state(i);
    const std::vector<StateTensor> expected = reference_.optimizer().state(i);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t k = 0; k < actual.size(); ++k) {
      ASSERT_EQ(actual[k].name, expected[k].name);
      const auto values = DeviceTensor::values_of(model_.state_bytes(actual[k]), actual[k].dtype);
      const auto wanted =
          DeviceTensor::values_of(reference_.state_bytes(expected[k]), actual[k].dtype);
      const bool holds_weights =
          actual[k].name.ends_with(".slow") || actual[k].name.ends_with(".master");
      if (holds_weights && rounds_to_16_bit() && !types_.master) {
        // Slow weights are merged from parameters that may be one unit apart.
        expect_close_16_bit(values, wanted, agreement, actual[k].name);
      } else if (holds_weights) {
        expect_close(values, wanted, agreement, actual[k].name);
      } else if (moments_see_parameters && rounds_to_16_bit() && !types_.master) {
        // The parameters that they read may be one unit apart per step.
        const double unit = types_.parameter == Dtype::kBFloat16 ? 0x1p-8 : 0x1p-11;
        EXPECT_LE(largest_difference(values, wanted), 2 * unit * steps_ * largest(wanted))
            << actual[k].name;
      } else {
        EXPECT_LE(largest_difference(values, wanted), agreement.of_state(largest(wanted)))
            << actual[k].name;
      }
    }
  }

  Model& model_;
  Model& reference_;
  Types types_;
  std::vector<double> update_;  // the reference's largest change of each tensor in one step
  int steps_ = 0;
};

// Checks the agreement after `steps` ordinary steps.
inline void expect_agreement(Model& model, Model& reference, const Types& types, int steps) {
  ReferenceComparison comparison(model, reference, types);
  for (int step = 0; step < steps; ++step) {
    comparison.step([&](Model& each) { each.take_step(step); });
  }
  comparison.expect_agreement();
}

}  // namespace sing::test
