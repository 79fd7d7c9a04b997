// Checks the values that are tried against those of the paper.
#include "lab/tune/ladder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sing::lab::tune {
namespace {

using ::testing::ElementsAre;

TEST(Ladder, RatesAreOneAndFiveTimesPowersOfTen) {
  EXPECT_THAT(values_of(rate_at, {-7, 3}),
              ElementsAre(5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 1e-1, 5e-1, 1, 5, 10, 50));
}

TEST(Ladder, DecaysAreFiveTimesPowersOfTen) {
  EXPECT_THAT(values_of(decay_at, {-5, 1}), ElementsAre(5e-5, 5e-4, 5e-3, 5e-2, 5e-1, 5, 50));
}

// The values are those of section 5.1 of the paper.
TEST(Ladder, GridsOfThePaper) {
  EXPECT_THAT(values_of(rate_at, paper_rates("adamw")), ElementsAre(5e-4, 1e-3, 5e-3, 1e-2));
  EXPECT_THAT(values_of(rate_at, paper_rates("sing-adamw")), ElementsAre(5e-3, 1e-2, 5e-2, 1e-1));
  EXPECT_THAT(values_of(decay_at, kPaperDecays), ElementsAre(5e-4, 5e-3, 5e-2, 5e-1));
}

}  // namespace
}  // namespace sing::lab::tune
