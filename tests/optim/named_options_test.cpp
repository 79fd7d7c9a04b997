// Checks which optimizers the names stand for.
#include "sing/optim/named_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/message_of.hpp"

namespace sing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(NamedOptions, EveryRuleIsThereAloneWithSingPluggedAndCentralized) {
  const std::vector<std::string> names = optimizer_names();
  EXPECT_EQ(names.size(), 4 * (rule_names().size() - 1));  // "gradient" does not train
  for (const std::string& rule : rule_names()) {
    if (rule != Gradient::kName) {
      EXPECT_THAT(
          names, ::testing::IsSupersetOf({rule, "sing-" + rule, "plugsing-" + rule, "gc-" + rule}));
    }
  }
  for (const std::string& name : names) {
    const Options options = make_options(name);
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

// The values are those of torch.optim's classes.
TEST(NamedOptions, TheRuleAloneIsTorchs) {
  for (const std::string& rule : trained_rule_names()) {
    EXPECT_TRUE(make_options(rule).decay_vectors) << rule;
    EXPECT_FALSE(make_options("sing-" + rule).decay_vectors) << rule;
  }
  const Options adamw = make_options("adamw");
  EXPECT_EQ(get_option(adamw, "learning_rate"), Value(1e-3));
  EXPECT_EQ(get_option(adamw, "weight_decay"), Value(1e-2));
  EXPECT_EQ(get_option(adamw, "softplus_beta"), Value());
  const Options sgd = make_options("sgd");
  EXPECT_EQ(get_option(sgd, "learning_rate"), Value(1e-3));
  EXPECT_EQ(get_option(sgd, "decoupled_decay"), Value(false));
  EXPECT_EQ(get_option(make_options("nadam"), "learning_rate"), Value(2e-3));
}

TEST(NamedOptions, SingIsThePapers) {
  const Options sing = make_options("sing-adamw");
  const Options usual;
  for (const OptionInfo& option : list_options(usual)) {
    EXPECT_EQ(get_option(sing, option.name), option.value) << option.name;
  }
  EXPECT_EQ(get_option(make_options("sing-adabelief"), "softplus_beta"), Value(50.0));
  EXPECT_EQ(get_option(make_options("sing-adafactor"), "softplus_beta"), Value());
  EXPECT_EQ(get_option(make_options("sing-sgd"), "decoupled_decay"), Value(true));
}

TEST(NamedOptions, PluggedSingDiffersFromTheRuleOnlyInTheNorm) {
  for (const std::string& rule : rule_names()) {
    if (rule == Gradient::kName) {
      continue;
    }
    Options plain = make_options(rule);
    set_option(plain, "normalize", Value("unit_norm"));
    const Options plugged = make_options("plugsing-" + rule);
    const std::vector<OptionInfo> wanted = list_options(plain);
    ASSERT_EQ(list_options(plugged).size(), wanted.size()) << rule;
    for (const OptionInfo& option : wanted) {
      EXPECT_EQ(get_option(plugged, option.name), option.value) << rule << " " << option.name;
    }
  }
}

TEST(NamedOptions, BothFormsOfLambHaveAName) {
  const Options paper = make_options("lamb");
  const Options nvidia = make_options("sing-nvlamb");
  EXPECT_EQ(name_of(nvidia.rule), name_of(paper.rule));
  EXPECT_EQ(get_option(paper, "bias_correction"), Value(false));
  EXPECT_EQ(get_option(paper, "clip_norm"), Value());
  EXPECT_EQ(get_option(nvidia, "bias_correction"), Value(true));
  EXPECT_EQ(get_option(nvidia, "clip_norm"), Value(1.0));
}

TEST(NamedOptions, AnUnknownNameIsRefusedWithTheNearest) {
  const auto refused = [](const char* name) {
    return test::message_of<std::invalid_argument>([&] { make_options(name); });
  };
  EXPECT_THAT(refused("sing-sdg"), AllOf(HasSubstr("got 'sing-sdg'"), HasSubstr("'sing-sgd'")));
  EXPECT_THAT(refused("gradient"), HasSubstr("got 'gradient'"));
  EXPECT_THAT(refused("sing-plugsing-lion"), HasSubstr("got 'sing-plugsing-lion'"));
}

}  // namespace
}  // namespace sing
