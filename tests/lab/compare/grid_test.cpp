// Checks which trainings a command line of `sing compare` starts.
#include "lab/compare/grid.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sing/base/message.hpp"
#include "tests/support/message_of.hpp"

namespace sing::lab::compare {
namespace {

using test::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names_of(const GridText& text) {
  std::vector<std::string> names;
  for (const Cell& cell : cells_of(text)) {
    names.push_back(cell.name);
  }
  return names;
}

std::string refusal(const GridText& text) {
  return message_of<std::invalid_argument>([&] { cells_of(text); });
}

TEST(Grid, MultipliesOutSeedBySeed) {
  EXPECT_THAT(names_of({.task = "rde",
                        .optimizers = {"adamw", "sgd"},
                        .learning_rates = {"1e-3,0.01"},
                        .seeds = {0, 7}}),
              ElementsAre("adamw_lr0.001_seed0", "adamw_lr0.01_seed0", "sgd_lr0.001_seed0",
                          "sgd_lr0.01_seed0", "adamw_lr0.001_seed7", "adamw_lr0.01_seed7",
                          "sgd_lr0.001_seed7", "sgd_lr0.01_seed7"));
}

TEST(Grid, LearningRatesOfOneReplaceThoseOfAll) {
  EXPECT_THAT(names_of({.task = "rde",
                        .optimizers = {"adamw", "sgd"},
                        .learning_rates = {"0.5", "adamw=0.1,1e-1"},
                        .seeds = {3, 3}}),
              ElementsAre("adamw_lr0.1_seed3", "sgd_lr0.5_seed3"));
}

TEST(Grid, WithoutLearningRatesTheOptimizerHasItsOwn) {
  const auto cells = cells_of(
      {.task = "rde", .optimizers = {"adamw"}, .seeds = {2}, .train_flags = {"--epochs", "3"}});
  ASSERT_EQ(cells.size(), 1U);
  EXPECT_EQ(cells[0].name, "adamw_seed2");
  EXPECT_FALSE(cells[0].learning_rate);
  EXPECT_THAT(cells[0].arguments,
              ElementsAre("train", "rde", "--optimizer", "adamw", "--seed", "2", "--epochs", "3"));
}

TEST(Grid, AVariantHasFlagsOfItsOwn) {
  const auto cells = cells_of({.task = "rde",
                               .variants = {"calibrated=sing-adamw --normalize size_calibrated"},
                               .learning_rates = {"calibrated=5e-2"},
                               .seeds = {0}});
  ASSERT_EQ(cells.size(), 1U);
  EXPECT_EQ(cells[0].contestant, "calibrated");
  EXPECT_EQ(cells[0].name, "calibrated_lr0.05_seed0");
  EXPECT_THAT(cells[0].arguments,
              ElementsAre("train", "rde", "--optimizer", "sing-adamw", "--normalize",
                          "size_calibrated", "--learning-rate", "0.05", "--seed", "0"));
}

TEST(Grid, RefusesInvalidGrids) {
  EXPECT_THAT(refusal({.task = "rde", .seeds = {0}}),
              HasSubstr("wanted --optimizers or --variant"));
  EXPECT_THAT(refusal({.optimizers = {"a/b"}, .seeds = {0}}), HasSubstr("got 'a/b'"));
  EXPECT_THAT(refusal({.optimizers = {".."}, .seeds = {0}}), HasSubstr("got '..'"));
  EXPECT_THAT(refusal({.optimizers = {"a"}, .variants = {"a=b"}, .seeds = {0}}),
              HasSubstr("got 'a' twice"));
  EXPECT_THAT(refusal({.optimizers = {"adamw"}, .learning_rates = {"adam=1"}, .seeds = {0}}),
              HasSubstr("got 'adam'; did you mean 'adamw'?"));
  for (const char* bad : {"0", "-1", "nan", "inf", "1e-3x", "one"}) {
    EXPECT_THAT(refusal({.optimizers = {"a"}, .learning_rates = {bad}, .seeds = {0}}),
                HasSubstr(fmt::format("wanted numbers above 0, got '{}'", bad)));
  }
  EXPECT_THAT(refusal({.optimizers = {"a"}, .seeds = {-1}}), HasSubstr("got -1"));
  for (const char* bad : {"calibrated", "calibrated=", "calibrated=--normalize off"}) {
    EXPECT_THAT(refusal({.variants = {bad}, .seeds = {0}}),
                HasSubstr(fmt::format("wanted NAME=OPTIMIZER FLAGS…, got '{}'", bad)));
  }
  for (const char* own :
       {"--seed", "--out=x", "--resume", "--optimizer", "--lr", "--learning-rate"}) {
    EXPECT_THAT(refusal({.optimizers = {"a"}, .seeds = {0}, .train_flags = {own}}),
                HasSubstr("which is set for each run"));
  }
  EXPECT_THAT(refusal({.variants = {"b=a --seed 4"}, .seeds = {0}}), HasSubstr("set for each run"));
}

}  // namespace
}  // namespace sing::lab::compare
