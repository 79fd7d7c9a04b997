// Checks options by name: every one of them, their kinds and bounds, misspelled names, defaults of
// groups.
#include "sing/optim/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sing/optim/optimizer.hpp"
#include "tests/support/message_of.hpp"

namespace sing {
namespace {

using test::message_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string refusal(Options options, std::string_view name, const Value& value) {
  return message_of<std::invalid_argument>([&] { set_option(options, name, value); });
}

std::string invalid(const Options& options) {
  return message_of<std::invalid_argument>([&] { validate(options); });
}

double number(const Options& options, std::string_view name) {
  return std::get<double>(get_option(options, name));
}

TEST(Options, DefaultsAreThePapers) {
  const Options options;
  const auto& rule = std::get<AdamW>(options.rule);
  EXPECT_EQ(rule.learning_rate, 5e-3);
  EXPECT_EQ(rule.beta1, 0.9);
  EXPECT_EQ(rule.beta2, 0.999);
  EXPECT_EQ(rule.epsilon, 1e-8);
  EXPECT_EQ(rule.weight_decay, 0);
  EXPECT_EQ(rule.softplus_beta, 50);
  EXPECT_EQ(options.standardize.norm_epsilon, 1e-8);
  EXPECT_TRUE(options.standardize.centralize);
  EXPECT_EQ(options.standardize.normalize, Normalize::kUnitNorm);
  EXPECT_EQ(options.lookahead.value().period, 5);
  EXPECT_EQ(options.lookahead.value().alpha, 0.5);
  EXPECT_FALSE(options.decay_vectors);
  EXPECT_EQ(options.non_finite, NonFinite::kSkipTensor);
}

TEST(Options, TheListNamesEachOnceWithHelp) {
  for (const std::string& rule : rule_names()) {
    Options options;
    options.rule = make_rule(rule);
    std::set<std::string> names;
    for (const OptionInfo& info : list_options(options)) {
      EXPECT_TRUE(names.insert(info.name).second) << info.name << " twice in " << rule;
      EXPECT_FALSE(info.help.empty()) << info.name;
    }
    for (const char* name : {"rule", "lookahead", "learning_rate", "weight_decay", "centralize",
                             "normalize", "lookahead_period", "non_finite"}) {
      EXPECT_TRUE(names.contains(name)) << name;
    }
  }
}

// set_option() accepts every value that the list gives, which files and other languages rely on.
TEST(Options, EveryListedValueCanBeSetAgain) {
  for (const std::string& rule : rule_names()) {
    Options options;
    options.rule = make_rule(rule);
    options.lookahead = Lookahead{.period = 7, .alpha = 0.25};
    options.standardize = {.centralize = false,
                           .centralize_axis = 1,
                           .normalize = Normalize::kSizeCalibrated,
                           .norm_epsilon = 0.125,
                           .reference_size = 12};
    options.decay_vectors = true;
    options.master_weights = true;
    options.state = StateType::kBFloat16;
    options.non_finite = NonFinite::kThrow;
    Options copy;
    for (const OptionInfo& info : list_options(options)) {
      set_option(copy, info.name, info.value);
    }
    const auto original = list_options(options);
    const auto copied = list_options(copy);
    ASSERT_EQ(original.size(), copied.size());
    for (std::size_t i = 0; i < original.size(); ++i) {
      EXPECT_EQ(original[i].name, copied[i].name);
      EXPECT_EQ(original[i].value, copied[i].value) << original[i].name;
    }
  }
}

TEST(Options, SetReachesTheMember) {
  Options options;
  set_option(options, "learning_rate", 0.25);
  set_option(options, "softplus_beta", std::monostate{});
  set_option(options, "normalize", "size_calibrated");
  set_option(options, "centralize_axis", std::int64_t{1});
  set_option(options, "decay_vectors", true);
  EXPECT_EQ(std::get<AdamW>(options.rule).learning_rate, 0.25);
  EXPECT_FALSE(std::get<AdamW>(options.rule).softplus_beta.has_value());
  EXPECT_EQ(options.standardize.normalize, Normalize::kSizeCalibrated);
  EXPECT_EQ(options.standardize.centralize_axis, 1);
  EXPECT_TRUE(options.decay_vectors);
}

TEST(Options, ARuleByNameStartsWithItsOwnDefaults) {
  Options options;
  set_option(options, "learning_rate", 0.25);
  set_option(options, "rule", "adabelief");
  EXPECT_EQ(number(options, "learning_rate"), AdaBelief{}.learning_rate);
  EXPECT_EQ(std::get<std::string>(get_option(options, "rule")), "adabelief");
}

TEST(Options, UnknownNamesAreRefusedWithTheNearest) {
  EXPECT_THAT(
      refusal({}, "learning_rte", 0.1),
      AllOf(HasSubstr("[options]"), HasSubstr("'learning_rte'"), HasSubstr("'learning_rate'")));
  EXPECT_THAT(refusal({}, "weight-decay", 0.1), HasSubstr("'weight_decay'"));
  EXPECT_THAT(refusal({}, "rule", "adamv"), AllOf(HasSubstr("'adamv'"), HasSubstr("'adamw'")));
  EXPECT_THAT(message_of<std::invalid_argument>([] { get_option({}, "betta1"); }),
              HasSubstr("'beta1'"));
}

// An option of another rule is as unknown as a misspelled one; the message names the rule.
TEST(Options, OptionsOfAnotherRuleAreRefused) {
  EXPECT_THAT(refusal({}, "momentum", 0.9), AllOf(HasSubstr("'momentum'"), HasSubstr("'adamw'")));
}

TEST(Options, LookaheadOptionsNeedLookahead) {
  Options options;
  set_option(options, "lookahead", false);
  EXPECT_FALSE(options.lookahead.has_value());
  EXPECT_THAT(refusal(options, "lookahead_period", std::int64_t{3}),
              AllOf(HasSubstr("'lookahead_period'"), HasSubstr("lookahead is off")));
  set_option(options, "lookahead", true);
  set_option(options, "lookahead_period", std::int64_t{3});
  EXPECT_EQ(options.lookahead->period, 3);
}

TEST(Options, WrongKindsAreRefused) {
  EXPECT_THAT(refusal({}, "learning_rate", "fast"), HasSubstr("learning_rate"));
  EXPECT_THAT(refusal({}, "centralize", 1.0), HasSubstr("centralize"));
  EXPECT_THAT(refusal({}, "lookahead_period", 2.5), HasSubstr("lookahead_period"));
  EXPECT_THAT(refusal({}, "normalize", "unit"),
              AllOf(HasSubstr("normalize"), HasSubstr("unit_norm"), HasSubstr("'unit'")));
  EXPECT_THAT(refusal({}, "rule", 3.0), HasSubstr("[rule]"));
}

TEST(Options, ValuesOutOfBoundsAreRefused) {
  EXPECT_THAT(invalid({.rule = AdamW{.learning_rate = -1}}),
              AllOf(HasSubstr("[adamw]"), HasSubstr("learning_rate"), HasSubstr("-1")));
  EXPECT_THAT(invalid({.rule = AdamW{.beta1 = 1}}), HasSubstr("beta1"));
  EXPECT_THAT(invalid({.rule = AdamW{.softplus_beta = 0}}), HasSubstr("softplus_beta"));
  EXPECT_THAT(invalid({.rule = AdaFactor{.clip_threshold = 0}}), HasSubstr("clip_threshold"));
  EXPECT_THAT(invalid({.clip_norm = 0}), HasSubstr("clip_norm"));
  EXPECT_THAT(invalid({.lookahead = Lookahead{.period = 0}}), HasSubstr("lookahead_period"));
  EXPECT_THAT(invalid({.lookahead = Lookahead{.alpha = 1.5}}), HasSubstr("lookahead_alpha"));
  EXPECT_THAT(invalid({.standardize = {.norm_epsilon = -1}}), HasSubstr("norm_epsilon"));
  EXPECT_THAT(invalid({.standardize = {.centralize_axis = -1}}), HasSubstr("centralize_axis"));
}

TEST(Options, NesterovNeedsMomentum) {
  EXPECT_THAT(invalid({.rule = Sgd{.nesterov = true}}), HasSubstr("nesterov"));
  EXPECT_NO_THROW(validate({.rule = Sgd{.momentum = 0.9, .nesterov = true}}));
}

// Options that a group leaves out have the optimizer's default, even if that equals the compiled-in
// one.
TEST(Groups, FallBackToTheOptimizersDefaults) {
  float a = 1;
  float b = 1;
  Options defaults;
  defaults.rule = AdamW{.learning_rate = 0.5, .weight_decay = 0.25, .softplus_beta = 5};
  defaults.lookahead = Lookahead{.period = 9};
  Optimizer optimizer(defaults);
  optimizer.add_group({{.name = "a", .data = &a, .shape = {1}}});
  optimizer.add_group({{.name = "b", .data = &b, .shape = {1}}},
                      {{"learning_rate", AdamW{}.learning_rate}, {"decay_vectors", true}});
  EXPECT_EQ(number(optimizer.options(0), "learning_rate"), 0.5);
  EXPECT_EQ(number(optimizer.options(1), "learning_rate"), AdamW{}.learning_rate);
  for (const std::size_t group : {0U, 1U}) {
    EXPECT_EQ(number(optimizer.options(group), "weight_decay"), 0.25);
    EXPECT_EQ(number(optimizer.options(group), "softplus_beta"), 5);
    EXPECT_EQ(optimizer.options(group).lookahead->period, 9);
  }
  EXPECT_FALSE(optimizer.options(0).decay_vectors);
  EXPECT_TRUE(optimizer.options(1).decay_vectors);
}

TEST(Groups, RefuseUnknownOptionsAndAreNotAdded) {
  float a = 1;
  Optimizer optimizer{Options{}};
  const std::vector<Parameter> parameters{{.name = "a", .data = &a, .shape = {1}}};
  EXPECT_THAT(message_of<std::invalid_argument>(
                  [&] { optimizer.add_group(parameters, {{"weight_dekay", 0.1}}); }),
              HasSubstr("'weight_decay'"));
  EXPECT_THAT(
      message_of<std::invalid_argument>([&] { optimizer.add_group(parameters, {{"beta2", 1.0}}); }),
      HasSubstr("beta2"));
  EXPECT_THAT(message_of<std::invalid_argument>(
                  [&] { optimizer.add_group(parameters, {{"non_finite", "throw"}}); }),
              HasSubstr("non_finite"));
  EXPECT_EQ(optimizer.group_count(), 0U);
  EXPECT_EQ(optimizer.parameter_count(), 0U);
}

TEST(Groups, OptionsThatDecideOnStateCannotChange) {
  float a = 1;
  Optimizer optimizer({{.name = "a", .data = &a, .shape = {1}}});
  for (const auto& [name, value] :
       Overrides{{"rule", "sgd"}, {"lookahead", false}, {"non_finite", "throw"}}) {
    EXPECT_THROW(optimizer.set_option(0, name, value), std::invalid_argument) << name;
  }
  EXPECT_EQ(std::get<std::string>(get_option(optimizer.options(0), "rule")), "adamw");
  EXPECT_TRUE(optimizer.options(0).lookahead.has_value());
  optimizer.set_option(0, "weight_decay", 0.5);
  optimizer.set_option(0, "softplus_beta", std::monostate{});
  EXPECT_EQ(number(optimizer.options(0), "weight_decay"), 0.5);
  EXPECT_THROW(optimizer.set_option(0, "beta1", 2.0), std::invalid_argument);
  EXPECT_EQ(number(optimizer.options(0), "beta1"), 0.9);
  EXPECT_THROW(optimizer.set_option(1, "beta1", 0.5), std::invalid_argument);
}

TEST(Groups, OptionsChangeTogetherOrNotAtAll) {
  float a = 1;
  Optimizer optimizer({{.name = "a", .data = &a, .shape = {1}}},
                      {.rule = Sgd{.learning_rate = 0.1, .momentum = 0.9}});
  EXPECT_THAT(message_of<std::invalid_argument>(
                  [&] { optimizer.set_options(0, {{"learning_rate", 5.0}, {"momentum", 0.0}}); }),
              HasSubstr("drop 'momentum' of 'a'"));
  EXPECT_EQ(number(optimizer.options(0), "learning_rate"), 0.1);
  optimizer.set_options(0, {{"learning_rate", 0.5}, {"momentum", 0.5}});
  EXPECT_EQ(number(optimizer.options(0), "learning_rate"), 0.5);
  EXPECT_EQ(number(optimizer.options(0), "momentum"), 0.5);
}

// Yogi keeps arrays of the same names and shapes as AdamW.
TEST(Groups, TheRuleCannotChange) {
  float a = 1;
  Optimizer optimizer({{.name = "a", .data = &a, .shape = {1}}});
  EXPECT_THAT(message_of<std::invalid_argument>([&] { optimizer.set_option(0, "rule", "yogi"); }),
              HasSubstr("group 0: wanted rule adamw, got yogi; the rule cannot change"));
}

TEST(Groups, AnArrayThatAnOptionWouldAddIsNamed) {
  float a = 1;
  Options options;
  options.rule = Muon{};
  Optimizer optimizer({{.name = "a", .data = &a, .shape = {1, 1}}}, options);
  EXPECT_THAT(
      message_of<std::invalid_argument>([&] { optimizer.set_option(0, "orthogonalize", false); }),
      HasSubstr("would add 'second_moment' of 'a'"));
}

TEST(Groups, LearningRatesAndFactor) {
  float a = 1;
  float b = 1;
  Optimizer optimizer({{.name = "a", .data = &a, .shape = {1}}});
  optimizer.add_group({{.name = "b", .data = &b, .shape = {1}}});
  optimizer.set_learning_rate(1, 0.125);
  EXPECT_EQ(number(optimizer.options(0), "learning_rate"), 5e-3);
  EXPECT_EQ(number(optimizer.options(1), "learning_rate"), 0.125);
  optimizer.set_learning_rate(0.5);
  EXPECT_EQ(number(optimizer.options(0), "learning_rate"), 0.5);
  EXPECT_EQ(number(optimizer.options(1), "learning_rate"), 0.5);
  for (const double bad : {-1.0, HUGE_VAL, std::nan("")}) {
    EXPECT_THROW(optimizer.set_learning_rate(bad), std::invalid_argument);
    EXPECT_THROW(optimizer.set_learning_rate(0, bad), std::invalid_argument);
    EXPECT_THROW(optimizer.set_learning_rate_factor(bad), std::invalid_argument);
  }
  EXPECT_EQ(number(optimizer.options(0), "learning_rate"), 0.5);
}

}  // namespace
}  // namespace sing
