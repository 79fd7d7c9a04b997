// Checks learning-rate schedules: hand-computed factors, boundaries, order and access by name.
#include "sing/optim/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/support/message_of.hpp"

namespace sing {
namespace {

using test::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Factors lie in [0, 1] and come from a few double operations.
constexpr double kRounding = 1e-15;
constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

void expect_factors(const Schedule& schedule, const std::vector<double>& wanted) {
  validate(schedule);
  for (std::size_t step = 0; step < wanted.size(); ++step) {
    EXPECT_NEAR(schedule.factor(static_cast<std::int64_t>(step)), wanted[step], kRounding)
        << name_of(schedule) << " at step " << step;
  }
}

// Returns one schedule of each kind that falls, 40 steps long.
std::vector<Schedule> falling_schedules() {
  return {{WarmupCosine{.warmup_steps = 10, .total_steps = 40}},
          {WarmupCosine{.warmup_steps = 10, .total_steps = 40, .final_factor = 0.25}},
          {WarmupHoldCosine{.warmup_steps = 10, .hold_steps = 7, .total_steps = 40}},
          {WarmupInverseSquareRoot{.warmup_steps = 10}},
          {WarmupLinear{.warmup_steps = 10, .total_steps = 40, .final_factor = 0.5}}};
}

TEST(Schedule, ConstantIsOneAtEveryStep) {
  expect_factors({ConstantSchedule{}}, {1, 1, 1});
  EXPECT_EQ(Schedule{}.factor(kLargest), 1);
}

TEST(Schedule, WarmupCosineByHand) {
  // After the rise x = (t − 2) / 4: (1 + cos 0)/2, (1 + cos π/4)/2, 1/2, (1 + cos 3π/4)/2, 0.
  const double eighth = std::sqrt(0.5);
  expect_factors({WarmupCosine{.warmup_steps = 2, .total_steps = 6}},
                 {0.5, 1, 1, (1 + eighth) / 2, 0.5, (1 - eighth) / 2, 0, 0, 0});
}

TEST(Schedule, WarmupOfThreeStepsIsThirdsOfTheRate) {
  expect_factors({WarmupCosine{.warmup_steps = 3, .total_steps = 1000}}, {1.0 / 3, 2.0 / 3, 1, 1});
}

TEST(Schedule, WarmupCosineEndsAtItsFinalFactor) {
  // The middle between 1 and 0.2 is 0.6.
  const Schedule schedule{WarmupCosine{.total_steps = 2, .final_factor = 0.2}};
  expect_factors(schedule, {1, 0.6, 0.2, 0.2});
  EXPECT_EQ(schedule.factor(kLargest), 0.2);
}

TEST(Schedule, WarmupHoldCosineByHand) {
  expect_factors(
      {WarmupHoldCosine{.warmup_steps = 2, .hold_steps = 3, .total_steps = 7, .final_factor = 0.5}},
      {0.5, 1, 1, 1, 1, 1, 0.75, 0.5, 0.5});
}

TEST(Schedule, WithoutHoldIsWarmupCosine) {
  const Schedule held{WarmupHoldCosine{.warmup_steps = 3, .total_steps = 11, .final_factor = 0.1}};
  const Schedule plain{WarmupCosine{.warmup_steps = 3, .total_steps = 11, .final_factor = 0.1}};
  for (std::int64_t step = 0; step < 15; ++step) {
    EXPECT_EQ(held.factor(step), plain.factor(step)) << step;
  }
}

TEST(Schedule, WarmupInverseSquareRootByHand) {
  // √(4 / (t + 1)) after the rise: t = 4 gives √(4/5), t = 15 gives 1/2.
  const Schedule schedule{WarmupInverseSquareRoot{.warmup_steps = 4}};
  expect_factors(schedule, {0.25, 0.5, 0.75, 1, std::sqrt(0.8)});
  EXPECT_NEAR(schedule.factor(15), 0.5, kRounding);
  EXPECT_NEAR(schedule.factor(399), 0.1, kRounding);
  EXPECT_GT(schedule.factor(kLargest), 0);
}

TEST(Schedule, InverseSquareRootWithoutWarmupFallsFromTheFirstStep) {
  expect_factors({WarmupInverseSquareRoot{}}, {1, std::sqrt(0.5), std::sqrt(1.0 / 3), 0.5});
}

TEST(Schedule, WarmupLinearByHand) {
  expect_factors({WarmupLinear{.warmup_steps = 2, .total_steps = 6}},
                 {0.5, 1, 1, 0.75, 0.5, 0.25, 0, 0});
  expect_factors({WarmupLinear{.total_steps = 4, .final_factor = 0.6}},
                 {1, 0.9, 0.8, 0.7, 0.6, 0.6});
}

TEST(Schedule, PiecewiseLinearByHand) {
  const Schedule schedule{PiecewiseLinear{.knots = {{2, 0.5}, {4, 1}, {5, 0.25}, {9, 2.25}}}};
  expect_factors(schedule, {0.5, 0.5, 0.5, 0.75, 1, 0.25, 0.75, 1.25, 1.75, 2.25, 2.25});
  EXPECT_EQ(schedule.factor(kLargest), 2.25);
}

TEST(Schedule, OneKnotIsThatFactorEverywhere) {
  expect_factors({PiecewiseLinear{.knots = {{3, 0.125}}}}, {0.125, 0.125, 0.125, 0.125, 0.125});
}

TEST(Schedule, WarmupAsLongAsTheWholeRisesAndThenEnds) {
  expect_factors({WarmupCosine{.warmup_steps = 2, .total_steps = 2, .final_factor = 0.1}},
                 {0.5, 1, 0.1, 0.1});
  expect_factors({WarmupHoldCosine{.warmup_steps = 1, .hold_steps = 1, .total_steps = 2}},
                 {1, 1, 0, 0});
}

TEST(Schedule, RisesToOneThenNeverRisesAgain) {
  for (const Schedule& schedule : falling_schedules()) {
    for (std::int64_t step = 1; step < 10; ++step) {
      EXPECT_GT(schedule.factor(step), schedule.factor(step - 1)) << name_of(schedule) << step;
    }
    EXPECT_EQ(schedule.factor(9), 1) << name_of(schedule);
    for (std::int64_t step = 10; step < 60; ++step) {
      EXPECT_LE(schedule.factor(step), schedule.factor(step - 1)) << name_of(schedule) << step;
    }
  }
}

// The steepest part is the middle of the cosine, π/2 divided by its 23 steps: 0.0683, or the rise,
// 0.1.
TEST(Schedule, NeverJumps) {
  for (const Schedule& schedule : falling_schedules()) {
    for (std::int64_t step = 1; step < 60; ++step) {
      EXPECT_LE(std::abs(schedule.factor(step) - schedule.factor(step - 1)), 0.1 + kRounding)
          << name_of(schedule) << " at step " << step;
    }
  }
}

TEST(Schedule, StretchedTenfoldItIsTheSameCurve) {
  const Schedule one{WarmupCosine{.total_steps = 40, .final_factor = 0.1}};
  const Schedule ten{WarmupCosine{.total_steps = 400, .final_factor = 0.1}};
  for (std::int64_t step = 0; step <= 40; ++step) {
    EXPECT_NEAR(one.factor(step), ten.factor(10 * step), kRounding) << step;
  }
}

TEST(Schedule, CountsUpToTheLargestDoNotOverflow) {
  const Schedule schedule{WarmupHoldCosine{
      .warmup_steps = kLargest - 1, .hold_steps = kLargest - 1, .total_steps = kLargest}};
  validate(schedule);
  EXPECT_NEAR(schedule.factor(kLargest / 2), 0.5, kRounding);
  EXPECT_EQ(schedule.factor(kLargest - 1), 1);
}

TEST(Schedule, RefusesANegativeStep) {
  EXPECT_THAT(message_of<std::invalid_argument>([] { Schedule{}.factor(-1); }),
              HasSubstr("got -1"));
}

TEST(Schedule, EachNameMakesItsKind) {
  EXPECT_THAT(schedule_names(),
              ElementsAre("constant", "warmup_cosine", "warmup_hold_cosine",
                          "warmup_inverse_square_root", "warmup_linear", "piecewise_linear"));
  for (const std::string& name : schedule_names()) {
    EXPECT_EQ(name_of(make_schedule(name)), name);
  }
}

TEST(Schedule, UnknownNameNamesTheNearest) {
  const auto message = message_of<std::invalid_argument>([] { make_schedule("warmup_cosin"); });
  EXPECT_THAT(message, HasSubstr("[schedule] wanted the name of a schedule, got 'warmup_cosin'"));
  EXPECT_THAT(message, HasSubstr("'warmup_cosine'"));
}

TEST(Schedule, OptionsByNameAreTheFields) {
  Schedule schedule = make_schedule("warmup_linear");
  set_option(schedule, "warmup_steps", std::string("4"));
  set_option(schedule, "total_steps", std::int64_t{20});
  set_option(schedule, "final_factor", 0.5);
  const auto& kind = std::get<WarmupLinear>(schedule.kind);
  EXPECT_EQ(kind.warmup_steps, 4);
  EXPECT_EQ(kind.total_steps, 20);
  EXPECT_EQ(kind.final_factor, 0.5);
  EXPECT_EQ(list_options(schedule).at(2).name, "final_factor");
  EXPECT_EQ(list_options(schedule).at(2).value, Value(0.5));
  EXPECT_THAT(message_of<std::invalid_argument>(
                  [&] { set_option(schedule, "warmup_step", std::int64_t{1}); }),
              HasSubstr("did you mean 'warmup_steps'"));
  EXPECT_THROW(set_option(schedule, "total_steps", 1.5), std::invalid_argument);
}

TEST(Schedule, KnotsReadBackWhatTheyWrite) {
  Schedule schedule = make_schedule("piecewise_linear");
  set_option(schedule, "knots", std::string("0:1, 100:0.1 ,250:1e-3"));
  const std::vector<Knot> wanted = {{0, 1}, {100, 0.1}, {250, 1e-3}};
  EXPECT_EQ(std::get<PiecewiseLinear>(schedule.kind).knots, wanted);
  const Value written = list_options(schedule).at(0).value;
  EXPECT_EQ(written, Value(std::string("0:1,100:0.1,250:0.001")));
  std::vector<Knot> read;
  assign(read, written, "knots");
  EXPECT_EQ(read, wanted);
}

TEST(Schedule, RefusesKnotsThatAreNotKnots) {
  for (const char* text : {"", ",", "1", "1:", ":1", "1:2,", "1:2;3:4", "1.5:2", "1:2x", "a:b"}) {
    std::vector<Knot> knots = {{7, 7}};
    EXPECT_THROW(assign(knots, std::string(text), "knots"), std::invalid_argument) << text;
    EXPECT_EQ(knots, (std::vector<Knot>{{7, 7}})) << text;
  }
  std::vector<Knot> knots;
  EXPECT_THROW(assign(knots, std::int64_t{1}, "knots"), std::invalid_argument);
}

struct Refusal {
  Schedule schedule;
  const char* message;
};

TEST(Schedule, ValidateSaysWhatIsWrong) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Refusal> refusals = {
      {{WarmupCosine{}}, "[schedule warmup_cosine] wanted total_steps at least 1"},
      {{WarmupCosine{.warmup_steps = -1, .total_steps = 5}}, "wanted warmup_steps at least 0"},
      {{WarmupCosine{.warmup_steps = 6, .total_steps = 5}}, "at least the 6 steps"},
      {{WarmupCosine{.total_steps = 5, .final_factor = 1.5}}, "wanted final_factor in [0, 1]"},
      {{WarmupCosine{.total_steps = 5, .final_factor = nan}}, "wanted final_factor in [0, 1]"},
      {{WarmupHoldCosine{.warmup_steps = 3, .hold_steps = 3, .total_steps = 5}},
       "at least the 6 steps"},
      {{WarmupHoldCosine{.hold_steps = -1, .total_steps = 5}}, "wanted hold_steps at least 0"},
      {{WarmupInverseSquareRoot{.warmup_steps = -1}}, "wanted warmup_steps at least 0"},
      {{WarmupLinear{.warmup_steps = 2, .total_steps = 1}}, "[schedule warmup_linear]"},
      {{PiecewiseLinear{}}, "at least one knot"},
      {{PiecewiseLinear{.knots = {{-1, 1}}}}, "wanted knot 0 at step 0 or later, got -1"},
      {{PiecewiseLinear{.knots = {{0, -1}}}}, "factor of knot 0"},
      {{PiecewiseLinear{.knots = {{0, 1}, {1, nan}}}}, "factor of knot 1"},
      {{PiecewiseLinear{.knots = {{3, 1}, {3, 2}}}}, "got 3 after 3"}};
  for (const Refusal& refusal : refusals) {
    EXPECT_THAT(message_of<std::invalid_argument>([&] { validate(refusal.schedule); }),
                HasSubstr(refusal.message));
  }
}

}  // namespace
}  // namespace sing
