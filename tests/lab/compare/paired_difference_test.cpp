// Checks paired differences and their intervals against numbers computed by hand.
#include "lab/compare/paired_difference.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace sing::lab::compare {
namespace {

using run::kAbsent;

TEST(PairedDifference, IntervalIsStudentsTOverTheSharedSeeds) {
  // The differences are 1, 2 and 3: mean 2, sample deviation 1, 4.303 / √3 = 2.4843.
  const PairedDifference three =
      paired_difference({{0, 6}, {1, 4}, {2, 9}, {5, 100}}, {{2, 6}, {1, 2}, {0, 5}, {7, 0}});
  EXPECT_EQ(three.pairs, 3);
  EXPECT_DOUBLE_EQ(three.mean, 2);
  EXPECT_NEAR(three.half_width, 2.4843, 1e-4);
}

TEST(PairedDifference, OnePairHasNoInterval) {
  const PairedDifference one = paired_difference({{3, 1.5}, {4, kAbsent}}, {{3, 2}, {4, 2}});
  EXPECT_EQ(one.pairs, 1);
  EXPECT_DOUBLE_EQ(one.mean, -0.5);
  EXPECT_TRUE(std::isnan(one.half_width));
  EXPECT_TRUE(std::isnan(paired_difference({{1, 1}}, {{2, 1}}).mean));
}

TEST(PairedDifference, QuantilesAreThoseOfTheTables) {
  // Tables have three decimals; the expansion is right to 1e-4.
  constexpr double kTolerance = 6e-4;
  EXPECT_NEAR(student_quantile(1), 12.706, kTolerance);
  EXPECT_NEAR(student_quantile(10), 2.228, kTolerance);
  EXPECT_NEAR(student_quantile(11), 2.201, kTolerance);
  EXPECT_NEAR(student_quantile(15), 2.131, kTolerance);
  EXPECT_NEAR(student_quantile(30), 2.042, kTolerance);
  EXPECT_NEAR(student_quantile(120), 1.980, kTolerance);
}

}  // namespace
}  // namespace sing::lab::compare
