// Compares all rules on all backends and types with the reference, step by step.
#include <gtest/gtest.h>

#include "sing/base/message.hpp"
#include "tests/contract/agreement.hpp"
#include "tests/contract/model.hpp"
#include "tests/contract/rule_variants.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/same_bytes.hpp"
#include "tests/support/trajectory.hpp"

namespace sing {
namespace {

using test::all_rules;
using test::all_types;
using test::Model;
using test::RuleVariant;
using test::Types;

constexpr int kSteps = 7;  // past a merge of LookAhead and the start of rectification

Options options_of(const Rule& rule) {
  Options options;
  options.rule = rule;
  return options;
}

class RuleContract : public test::BackendTest {
 protected:
  void expect_reference(const Options& options, const std::vector<test::Shape>& shapes,
                        const Types& types, int steps) {
    SCOPED_TRACE(types.name());
    Model model(backend_, shapes, types, options);
    Model reference(make_reference_backend(), shapes, types, options);
    test::expect_agreement(model, reference, types, steps);
  }
};
SING_ON_BACKENDS(RuleContract, test::backend_kinds());

TEST_P(RuleContract, SmallTensorsOfEveryType) {
  for (const RuleVariant& variant : test::rule_variants()) {
    SCOPED_TRACE(variant.name);
    for (const Types& types : all_types()) {
      expect_reference(options_of(variant.rule), test::small_shapes(), types, kSteps);
    }
  }
}

TEST_P(RuleContract, LargeTensors) {
  for (const RuleVariant& variant : all_rules()) {
    SCOPED_TRACE(variant.name);
    for (const Types& types :
         {Types{Dtype::kFloat32, Dtype::kFloat32}, Types{Dtype::kFloat64, Dtype::kFloat64},
          Types{Dtype::kBFloat16, Dtype::kBFloat16, true}}) {
      expect_reference(options_of(variant.rule), test::large_shapes(), types, 2);
    }
  }
}

TEST_P(RuleContract, ThreeMillionElements) {
  for (const RuleVariant& variant : all_rules()) {
    SCOPED_TRACE(variant.name);
    const bool has_products =
        std::visit([]<class R>(const R&) { return kIsOrthogonal<R>; }, variant.rule);
    // The reference would need minutes to multiply matrices of this size.
    const test::Shape shape =
        test::kWatchesThreads ? (has_products ? test::Shape{15, 20'033} : test::Shape{1999, 151})
                              : (has_products ? test::Shape{15, 200'033} : test::Shape{1999, 1501});
    expect_reference(options_of(variant.rule), {shape}, {Dtype::kFloat32, Dtype::kFloat32}, 1);
  }
}

TEST_P(RuleContract, EveryWayToStandardize) {
  for (const bool centralize : {false, true}) {
    for (const Normalize normalize :
         {Normalize::kOff, Normalize::kUnitNorm, Normalize::kSizeCalibrated}) {
      SCOPED_TRACE(fmt::format("centralize {}, normalize {}", centralize, name_of(normalize)));
      Options options;
      options.standardize.centralize = centralize;
      options.standardize.normalize = normalize;
      for (const RuleVariant& variant : all_rules()) {
        SCOPED_TRACE(variant.name);
        options.rule = variant.rule;
        expect_reference(options, test::small_shapes(), {Dtype::kFloat32, Dtype::kFloat32}, 2);
      }
      options.rule = test::strong_rule<AdamW>();
      expect_reference(options, test::large_shapes(), {Dtype::kFloat32, Dtype::kFloat32}, 1);
    }
  }
}

// SING with a host rule is the rule applied to the standardized gradient: standardizing first and
// then running the rule alone takes the same steps.
TEST_P(RuleContract, StandardizingIsTheSameAroundEveryRule) {
  const std::vector<std::int64_t> shape{5, 7};
  const std::vector<double> start = test::random_values(1, 35);
  for (const RuleVariant& variant : test::rule_variants()) {
    if (std::holds_alternative<Gradient>(variant.rule)) {
      continue;
    }
    SCOPED_TRACE(variant.name);
    for (const Normalize normalize : {Normalize::kOff, Normalize::kUnitNorm}) {
      Options around = test::bare_rule(variant.rule);
      around.standardize = {.centralize = true, .normalize = normalize};
      Options first = around;
      first.rule = Gradient{};
      test::Trajectory at_once(backend_, around, shape, start);
      test::Trajectory standardized(backend_, first, shape, start);
      test::Trajectory rule_alone(backend_, test::bare_rule(variant.rule), shape, start);
      for (std::uint64_t step = 0; step < kSteps; ++step) {
        const std::vector<double> gradient = test::random_values(2 + step, 35);
        const std::vector<double> actual = at_once.take(gradient);
        const std::vector<double> expected = rule_alone.take(standardized.take(gradient));
        test::expect_values(actual, expected, 1e-13);
        EXPECT_TRUE(step + 1 < kSteps || actual != start);
      }
    }
  }
}

TEST_P(RuleContract, EveryCentralizedAxis) {
  for (const RuleVariant& variant : all_rules()) {
    SCOPED_TRACE(variant.name);
    for (std::int64_t axis = 0; axis < 4; ++axis) {
      Options options = options_of(variant.rule);
      options.standardize.centralize_axis = axis;
      SCOPED_TRACE(fmt::format("axis {}", axis));
      for (const Types& types :
           {Types{Dtype::kFloat32, Dtype::kFloat32}, Types{Dtype::kFloat64, Dtype::kFloat64}}) {
        expect_reference(options, {{4, 3, 5, 7}, {2, 3, 1, 70}, {3, 40, 2, 1}, {3, 2, 61, 101}},
                         types, 2);
      }
    }
  }
}

// Uses matrices larger than a chunk, centralized over the axis that is not outermost.
TEST_P(RuleContract, TheLastAxisOfALargeMatrix) {
  Options options = options_of(test::strong_rule<AdamW>());
  options.standardize.centralize_axis = 1;
  expect_reference(options, {{300, 333}, {2, 40'007}, {50'021, 2}, {1, 70'001}},
                   {Dtype::kFloat32, Dtype::kFloat32}, 2);
}

// A matrix of one row that is longer than a chunk is cut into parts of one row, and there is one.
TEST_P(RuleContract, OneLongRow) {
  for (const RuleVariant& variant : all_rules()) {
    SCOPED_TRACE(variant.name);
    expect_reference(options_of(variant.rule), {{1, 70'001}}, {Dtype::kFloat32, Dtype::kFloat32},
                     2);
  }
}

// Varies the decay of vectors, the learning rates of groups, and LookAhead at its limits.
TEST_P(RuleContract, OtherOptions) {
  for (const RuleVariant& variant : all_rules()) {
    SCOPED_TRACE(variant.name);
    Options options = options_of(variant.rule);
    options.decay_vectors = true;
    options.lookahead = Lookahead{.period = 2, .alpha = 0.25};
    expect_reference(options, test::small_shapes(), {Dtype::kFloat32, Dtype::kFloat32}, 5);
    options.lookahead.reset();
    expect_reference(options, test::small_shapes(), {Dtype::kFloat32, Dtype::kFloat32}, 5);
  }
}

// The policies that measure everything before the first write have different plans.
TEST_P(RuleContract, MeasuringFirstGivesTheSameBits) {
  for (const RuleVariant& variant : all_rules()) {
    SCOPED_TRACE(variant.name);
    std::vector<test::Shape> shapes = test::small_shapes();
    shapes.push_back({300, 333});
    shapes.push_back({9});
    Options options = options_of(variant.rule);
    std::vector<std::vector<std::string>> results;
    for (const NonFinite policy : {NonFinite::kSkipTensor, NonFinite::kSkipStep, NonFinite::kThrow,
                                   NonFinite::kPassThrough}) {
      options.non_finite = policy;
      Model model(backend_, shapes, {Dtype::kFloat32, Dtype::kFloat32}, options);
      model.take_step(0);
      model.take_step(1);
      results.push_back(model.all_bytes());
    }
    for (std::size_t policy = 1; policy < results.size(); ++policy) {
      EXPECT_TRUE(test::same_bytes(results[policy], results[0])) << policy;
    }
  }
}

}  // namespace
}  // namespace sing
