// Checks which optimizers the names stand for.
#include "lab/optimizer/named_optimizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/message_of.hpp"

namespace sing::lab::optimizer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(NamedOptimizer, EveryRuleIsThereAloneWithSingPluggedAndCentralized) {
  const std::vector<std::string> names = optimizer_names();
  EXPECT_EQ(names.size(), 4 * (rule_names().size() - 1));  // "gradient" does not train
  for (const std::string& rule : rule_names()) {
    if (rule != Gradient::kName) {
      EXPECT_THAT(
          names, ::testing::IsSupersetOf({rule, "sing-" + rule, "plugsing-" + rule, "gc-" + rule}));
    }
  }
  for (const std::string& name : names) {
    const Options options = make_optimizer_options(name);
    validate(options);
    const bool with_sing = name.starts_with("sing-");
    EXPECT_EQ(options.standardize.centralize, with_sing || name.starts_with("gc-")) << name;
    const bool has_unit_norm = with_sing || name.starts_with("plugsing-");
    EXPECT_EQ(options.standardize.normalize, has_unit_norm ? Normalize::kUnitNorm : Normalize::kOff)
        << name;
    EXPECT_EQ(options.lookahead.has_value(), with_sing) << name;
    EXPECT_THAT(name, HasSubstr(std::string(name_of(options.rule))));
  }
}

TEST(NamedOptimizer, SoftplusAndRatesAreThePapers) {
  const Options sing = make_optimizer_options("sing-adamw");
  EXPECT_EQ(get_option(sing, "softplus_beta"), Value(50.0));
  EXPECT_EQ(get_option(sing, "learning_rate"), Value(5e-2));
  EXPECT_EQ(get_option(sing, "weight_decay"), Value(5e-2));
  const Options plain = make_optimizer_options("adamw");
  EXPECT_EQ(get_option(plain, "softplus_beta"), Value());
  EXPECT_EQ(get_option(plain, "learning_rate"), Value(1e-3));
  EXPECT_EQ(get_option(make_optimizer_options("sing-adafactor"), "softplus_beta"), Value());
  EXPECT_EQ(get_option(make_optimizer_options("sgd"), "momentum"), Value(0.9));
  EXPECT_EQ(get_option(make_optimizer_options("gc-sgd"), "learning_rate"),
            get_option(make_optimizer_options("sgd"), "learning_rate"));
  EXPECT_THAT(
      test::message_of<std::invalid_argument>([] { make_optimizer_options("sing-sdg"); }),
      AllOf(HasSubstr("wanted one of adamw, sgd, "),
            HasSubstr(", or one of them behind sing-, plugsing- or gc-, got 'sing-sdg'; did "
                      "you mean 'sing-sgd'?")));
  EXPECT_THAT(test::message_of<std::invalid_argument>([] { make_optimizer_options("gradient"); }),
              HasSubstr("got 'gradient'"));
}

TEST(NamedOptimizer, PluggedSingDiffersFromTheRuleOnlyInTheNorm) {
  for (const std::string& rule : rule_names()) {
    if (rule == Gradient::kName) {
      continue;
    }
    Options plain = make_optimizer_options(rule);
    set_option(plain, "normalize", Value("unit_norm"));
    const Options plugged = make_optimizer_options("plugsing-" + rule);
    const std::vector<OptionInfo> wanted = list_options(plain);
    ASSERT_EQ(list_options(plugged).size(), wanted.size()) << rule;
    for (const OptionInfo& option : wanted) {
      EXPECT_EQ(get_option(plugged, option.name), option.value) << rule << " " << option.name;
    }
  }
}

TEST(NamedOptimizer, HelpExplainsEveryPrefix) {
  EXPECT_THAT(
      optimizer_help(),
      AllOf(HasSubstr("<rule>: the rule alone"), HasSubstr("; sing-<rule>: "),
            HasSubstr("; plugsing-<rule>: "), HasSubstr("; gc-<rule>: "), HasSubstr("adahessian")));
}

TEST(NamedOptimizer, BothFormsOfLambHaveAName) {
  const Options paper = make_optimizer_options("lamb");
  const Options nvidia = make_optimizer_options("sing-nvlamb");
  EXPECT_EQ(name_of(nvidia.rule), name_of(paper.rule));
  EXPECT_EQ(get_option(paper, "bias_correction"), Value(false));
  EXPECT_EQ(get_option(paper, "clip_norm"), Value());
  EXPECT_EQ(get_option(nvidia, "bias_correction"), Value(true));
  EXPECT_EQ(get_option(nvidia, "clip_norm"), Value(1.0));
}

TEST(NamedOptimizer, EveryOptionIsListedOnce) {
  std::vector<std::string> names;
  for (const OptionInfo& option : all_optimizer_options()) {
    EXPECT_THAT(names, Not(::testing::Contains(option.name)));
    names.push_back(option.name);
  }
  EXPECT_THAT(names, ::testing::IsSupersetOf({"lookahead", "lookahead_alpha", "normalize",
                                              "momentum", "rectify", "decay_power",
                                              "decoupled_decay", "softplus_beta"}));
}

}  // namespace
}  // namespace sing::lab::optimizer
