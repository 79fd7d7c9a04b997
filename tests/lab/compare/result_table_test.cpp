// Checks means, spreads and the choice of the learning rate against numbers computed by hand.
#include "lab/compare/result_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sing::lab::compare {
namespace {

using run::EndRecord;
using run::kAbsent;
using run::RunStatus;

Result finished(const std::string& name, double rate, double accuracy, double loss) {
  return {.contestant = name,
          .learning_rate = rate,
          .end = EndRecord{.status = RunStatus::kFinished,
                           .final_accuracy = accuracy,
                           .final_loss = loss,
                           .seconds = 10}};
}

Result diverged(const std::string& name, double rate) {
  return {
      .contestant = name, .learning_rate = rate, .end = EndRecord{.status = RunStatus::kDiverged}};
}

TEST(Statistic, SpreadIsTheDeviationOfASample) {
  // The mean is 5; the squares are 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32; the variance is 32 / 7.
  const Statistic eight = statistic_of({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_DOUBLE_EQ(eight.mean, 5);
  EXPECT_DOUBLE_EQ(eight.spread, std::sqrt(32.0 / 7));
  const Statistic one = statistic_of({3, kAbsent});
  EXPECT_EQ(one.mean, 3);
  EXPECT_TRUE(std::isnan(one.spread));
  EXPECT_TRUE(std::isnan(statistic_of({}).mean));
}

TEST(Rows, DivergedAndFailedRunsAreCountedNotAveraged) {
  Result wild = diverged("adamw", 0.1);
  wild.end->final_accuracy = 0.9;
  const auto rows = rows_of(
      {finished("adamw", 0.1, 0.5, 2), wild, {"adamw", 0.1}, finished("adamw", 0.1, 0.7, 4)});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].finished, 2);
  EXPECT_EQ(rows[0].diverged, 1);
  EXPECT_EQ(rows[0].failed, 1);
  EXPECT_DOUBLE_EQ(rows[0].accuracy.mean, 0.6);
  EXPECT_NEAR(rows[0].accuracy.spread, std::sqrt(0.02), 1e-15);
  EXPECT_DOUBLE_EQ(rows[0].loss.mean, 3);
  EXPECT_DOUBLE_EQ(rows[0].loss.spread, std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(rows[0].seconds.mean, 10);
}

std::vector<double> best_rates(const std::vector<Result>& results) {
  std::vector<double> rates;
  for (const Row& row : rows_of(results)) {
    if (row.best) {
      rates.push_back(*row.learning_rate);
    }
  }
  return rates;
}

TEST(Rows, BestLearningRateOfEachContestant) {
  using ::testing::ElementsAre;
  EXPECT_THAT(best_rates({finished("a", 0.1, 0.5, 1), finished("a", 0.2, 0.6, 2),
                          finished("b", 0.1, 0.3, 1), finished("b", 0.2, 0.2, 1)}),
              ElementsAre(0.2, 0.1));
  EXPECT_THAT(best_rates({finished("a", 0.1, kAbsent, 1), finished("a", 0.2, kAbsent, 0.5)}),
              ElementsAre(0.2))
      << "the lowest loss where there is no accuracy";
  EXPECT_THAT(best_rates({finished("a", 0.1, 0.5, 1), finished("a", 0.1, 0.5, 1),
                          finished("a", 0.2, 0.9, 1), diverged("a", 0.2)}),
              ElementsAre(0.1))
      << "a rate that loses a run is worse than one that loses none";
  EXPECT_THAT(best_rates({diverged("a", 0.1), diverged("a", 0.2)}), ElementsAre());
  EXPECT_THAT(best_rates({finished("a", 0.1, 0.5, 1), finished("b", 0.2, 0.6, 1)}), ElementsAre())
      << "one rate has nothing to be better than";
}

TEST(Rows, ALearningRateThatWasNotGivenIsTheRunsOwn) {
  Result result = finished("adamw", 0, 0.5, 1);
  result.learning_rate = std::nullopt;
  EXPECT_THAT(text_of(rows_of({result})), ::testing::HasSubstr("adamw      its own"));
  result.own_rate = 0.001;
  EXPECT_THAT(text_of(rows_of({{"adamw", std::nullopt}, result})),
              ::testing::HasSubstr("adamw      0.001 "));
}

TEST(Rows, TextHasOneLinePerRowUnderItsHeadings) {
  const std::string text = text_of(rows_of({finished("sing-adamw", 0.05, 0.6, 0.002),
                                            finished("sing-adamw", 0.05, 0.7, 0.004),
                                            finished("sgd", 0.1, 0.25, 0.03),
                                            diverged("sgd", 1),
                                            {"lion", std::nullopt}}));
  // 0.6 and 0.7 have mean 0.65 and spread 0.1 / √2; 0.002 and 0.004 have mean 0.003 and spread
  // 0.002 / √2.
  EXPECT_EQ(
      text,
      "optimizer   learning rate  runs  accuracy       loss            time\n"
      "sing-adamw  0.05           2     65 % ± 7.07 %  0.003 ± 0.0014  10 s\n"
      "sgd         0.1            1     25 %           0.03            10 s  best\n"
      "sgd         1              0     –              –               –     1 of 1 diverged\n"
      "lion        its own        0     –              –               –     1 of 1 failed\n"
      "runs: number of finished runs; the other numbers are their mean ± standard deviation\n");
}

Result of_seed(std::int64_t seed, Result result) {
  result.seed = seed;
  return result;
}

TEST(Rows, DifferencesAreToTheFirstContestantsBestRateSeedBySeed) {
  // Differences to adamw at 0.2 are 0.10 and 0.12: mean 0.11, sample deviation √2 / 100, and
  // 12.706 · √2 / 100 / √2 = 0.127.
  const std::string text = text_of(rows_of(
      {of_seed(0, finished("adamw", 0.1, 0.3, 1)), of_seed(0, finished("adamw", 0.2, 0.5, 1)),
       of_seed(1, finished("adamw", 0.2, 0.6, 1)), of_seed(0, finished("sing", 0.1, 0.6, 1)),
       of_seed(1, finished("sing", 0.1, 0.72, 1)), of_seed(2, finished("sing", 0.1, 0.9, 1))}));
  EXPECT_THAT(text, ::testing::HasSubstr("+11 % ± 12.71 %"));
  EXPECT_THAT(text, ::testing::HasSubstr("-20 %"));  // adamw at 0.1, with one seed
  EXPECT_THAT(text, ::testing::HasSubstr("difference: of the accuracy, to adamw at 0.2 with the "
                                         "same seed; mean and 95 % interval by Student's t\n"));
}

TEST(Rows, LossesAreComparedWhereThereIsNoAccuracy) {
  const std::string text = text_of(rows_of({of_seed(0, finished("adamw", 0.1, kAbsent, 3)),
                                            of_seed(1, finished("adamw", 0.1, kAbsent, 4)),
                                            of_seed(0, finished("sing", 0.1, kAbsent, 2.5)),
                                            of_seed(1, finished("sing", 0.1, kAbsent, 3.5))}));
  EXPECT_THAT(text, ::testing::HasSubstr("-0.5 ± 0"));
  EXPECT_THAT(text, ::testing::HasSubstr("difference: of the loss, to adamw at 0.1 "));
}

TEST(Rows, OtherScoresHaveColumnsAndReplaceAnAccuracyThatNobodyHas) {
  const auto scored = [](double accuracy, double perplexity) {
    Result result = finished("adamw", 0.1, accuracy, 2);
    result.end->score_name = "BLEU";
    result.end->others = {{"perplexity", perplexity}};
    return result;
  };
  EXPECT_EQ(
      text_of(rows_of({scored(0.25, 4), scored(0.25, 6)})),
      "optimizer  learning rate  runs  BLEU        loss   perplexity  time\n"
      "adamw      0.1            2     25 % ± 0 %  2 ± 0  5 ± 1.4     10 s\n"
      "runs: number of finished runs; the other numbers are their mean ± standard deviation\n");
  EXPECT_EQ(
      text_of(rows_of({scored(kAbsent, 4), diverged("sgd", 1)})),
      "optimizer  learning rate  runs  loss  perplexity  time\n"
      "adamw      0.1            1     2     4           10 s\n"
      "sgd        1              0     –     –           –     1 of 1 diverged\n"
      "runs: number of finished runs; the other numbers are their mean ± standard deviation\n");
}

}  // namespace
}  // namespace sing::lab::compare
