// Checks the rates that the program gives to named optimizers.
#include "lab/optimizer/named_optimizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/message_of.hpp"

namespace sing::lab::optimizer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The paper's table of tuned values; every other option is that of the name.
TEST(NamedOptimizer, OnlyTunedValuesDifferFromTheName) {
  for (const std::string& name : optimizer_names()) {
    const Options named = make_options(name);
    const Options tuned = make_optimizer_options(name);
    for (const OptionInfo& option : list_options(tuned)) {
      if (option.name != "learning_rate" && option.name != "weight_decay" &&
          option.name != "momentum") {
        EXPECT_EQ(get_option(named, option.name), option.value) << name << " " << option.name;
      }
    }
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

TEST(NamedOptimizer, HelpExplainsEveryPrefix) {
  EXPECT_THAT(
      optimizer_help(),
      AllOf(HasSubstr("<rule>: the rule alone"), HasSubstr("; sing-<rule>: "),
            HasSubstr("; plugsing-<rule>: "), HasSubstr("; gc-<rule>: "), HasSubstr("adahessian")));
}

TEST(NamedOptimizer, EveryOptionIsListedOnce) {
  std::vector<std::string> names;
  for (const OptimizerOption& option : all_optimizer_options()) {
    EXPECT_THAT(names, Not(::testing::Contains(option.info.name)));
    names.push_back(option.info.name);
    EXPECT_EQ(get_option(make_optimizer_options(option.optimizer), option.info.name),
              option.info.value)
        << option.optimizer;
  }
  EXPECT_THAT(names, ::testing::IsSupersetOf({"lookahead", "lookahead_alpha", "normalize",
                                              "momentum", "rectify", "decay_power",
                                              "decoupled_decay", "softplus_beta"}));
}

}  // namespace
}  // namespace sing::lab::optimizer
