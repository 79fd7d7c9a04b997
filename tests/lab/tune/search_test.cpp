// Checks both searches against walks computed by hand.
#include "lab/tune/search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/message_of.hpp"

namespace sing::lab::tune {
namespace {

using run::EndRecord;
using run::kAbsent;
using run::RunStatus;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Trial finished(double accuracy, double loss = 1) {
  return {.end = EndRecord{.final_accuracy = accuracy, .final_loss = loss}};
}

Trial diverged() { return {.end = EndRecord{.status = RunStatus::kDiverged, .final_accuracy = 1}}; }

// Gives the accuracy of each position; a position without one diverges.
struct Hill {
  std::map<int, double> accuracies;
  std::vector<int> visited;

  Walk climb(Places start, int most_beyond) {
    return walk(start, most_beyond, [&](int place) -> std::optional<Trial> {
      visited.push_back(place);
      const auto found = accuracies.find(place);
      return found != accuracies.end() ? finished(found->second) : diverged();
    });
  }
};

TEST(Walk, ABestInTheMiddleEndsIt) {
  Hill hill{.accuracies = {{0, 0.1}, {1, 0.3}, {2, 0.2}, {3, 0.1}}};
  const Walk walked = hill.climb({0, 3}, 4);
  EXPECT_THAT(hill.visited, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(walked.best, 1);
  EXPECT_EQ(walked.tried, (Places{0, 3}));
  EXPECT_FALSE(walked.at_end);
}

TEST(Walk, ABestAtTheUpperEndGoesUpUntilItIsPassed) {
  Hill hill{.accuracies = {{0, 0.1}, {1, 0.2}, {2, 0.3}, {3, 0.4}, {4, 0.5}, {5, 0.45}}};
  const Walk walked = hill.climb({0, 3}, 4);
  EXPECT_THAT(hill.visited, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(walked.best, 4);
  EXPECT_EQ(walked.tried, (Places{0, 5}));
  EXPECT_FALSE(walked.at_end);
}

TEST(Walk, ABestAtTheLowerEndGoesDownUntilItIsPassed) {
  Hill hill{.accuracies = {{0, 0.4}, {1, 0.3}, {2, 0.2}, {3, 0.1}, {-1, 0.5}, {-2, 0.5}}};
  const Walk walked = hill.climb({0, 3}, 4);
  EXPECT_THAT(hill.visited, ElementsAre(0, 1, 2, 3, -1, -2));
  EXPECT_EQ(walked.best, -1) << "an equal one does not take its place";
  EXPECT_EQ(walked.tried, (Places{-2, 3}));
}

// "The best learning rate found is the last one before the training explodes."
TEST(Walk, ADivergedNeighborIsANeighbor) {
  Hill hill{.accuracies = {{0, 0.1}, {1, 0.2}, {2, 0.3}}};
  const Walk walked = hill.climb({0, 3}, 4);
  EXPECT_THAT(hill.visited, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(walked.best, 2);

  Hill higher{.accuracies = {{0, 0.1}, {1, 0.2}, {2, 0.3}, {3, 0.4}}};
  EXPECT_EQ(higher.climb({0, 3}, 4).best, 3);
  EXPECT_THAT(higher.visited, ElementsAre(0, 1, 2, 3, 4));
}

TEST(Walk, WhereAllDivergeSmallerValuesAreTried) {
  Hill hill{.accuracies = {{-2, 0.5}, {-3, 0.25}}};
  const Walk walked = hill.climb({0, 3}, 4);
  EXPECT_THAT(hill.visited, ElementsAre(0, 1, 2, 3, -1, -2, -3));
  EXPECT_EQ(walked.best, -2);

  Hill nothing;
  const Walk lost = nothing.climb({0, 3}, 2);
  EXPECT_THAT(nothing.visited, ElementsAre(0, 1, 2, 3, -1, -2));
  EXPECT_EQ(lost.best, std::nullopt);
  EXPECT_FALSE(lost.at_end);
}

TEST(Walk, TheBoundEndsItAndIsReported) {
  Hill up{.accuracies = {{0, 0.1}, {1, 0.2}, {2, 0.3}, {3, 0.4}}};
  const Walk walked = up.climb({0, 1}, 2);
  EXPECT_THAT(up.visited, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(walked.best, 3);
  EXPECT_TRUE(walked.at_end);

  Hill down{.accuracies = {{0, 0.2}, {1, 0.1}}};
  EXPECT_TRUE(down.climb({0, 1}, 0).at_end);
  EXPECT_THAT(down.visited, ElementsAre(0, 1));
}

TEST(Walk, StopsWhenToldTo) {
  std::vector<int> visited;
  const Walk walked = walk({0, 3}, 4, [&](int place) -> std::optional<Trial> {
    visited.push_back(place);
    return place < 1 ? std::optional(finished(0.5)) : std::nullopt;
  });
  EXPECT_TRUE(walked.stopped);
  EXPECT_THAT(visited, ElementsAre(0, 1));
}

TEST(Trials, AccuracyThenLossAndNeverADivergedOne) {
  EXPECT_TRUE(is_better(finished(0.5, 9), finished(0.4, 1)));
  EXPECT_TRUE(is_better(finished(0.5, 1), finished(0.5, 2)));
  EXPECT_FALSE(is_better(finished(0.5, 1), finished(0.5, 1)));
  EXPECT_TRUE(is_better(finished(kAbsent, 1), finished(kAbsent, 2)));
  EXPECT_TRUE(is_better(finished(0, 9), diverged()));
  EXPECT_EQ(best_of({diverged(), finished(0.1), finished(0.2)}), 2U);
  EXPECT_EQ(best_of({diverged()}), std::nullopt);
}

TEST(Halving, EpochsDoubleUpToTheLastRound) {
  EXPECT_THAT(round_epochs(16, 80), ElementsAre(10, 20, 40, 80));
  EXPECT_THAT(round_epochs(16, 8), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(round_epochs(2, 5), ElementsAre(5));
  EXPECT_THAT(test::message_of<std::invalid_argument>([] { round_epochs(16, 7); }),
              HasSubstr("wanted at least 8 for the last of 4 rounds, got 7"));
}

TEST(Halving, KeepsTheBetterHalfWithoutDivergedOnes) {
  const auto at = [](double rate, Trial trial) {
    trial.setting.learning_rate = rate;
    return trial;
  };
  const auto rates = [](const std::vector<Setting>& settings) {
    std::vector<double> values;
    for (const Setting& setting : settings) {
      values.push_back(setting.learning_rate);
    }
    return values;
  };
  EXPECT_THAT(rates(better_half({at(1, finished(0.1)), at(2, finished(0.4)), at(3, diverged()),
                                 at(4, finished(0.3))})),
              ElementsAre(2, 4));
  EXPECT_THAT(rates(better_half(
                  {at(1, diverged()), at(2, finished(0)), at(3, diverged()), at(4, diverged())})),
              ElementsAre(2));
  EXPECT_THAT(rates(better_half({at(1, finished(0.1))})), ElementsAre(1));
  EXPECT_THAT(better_half({at(1, diverged())}), IsEmpty());
}

}  // namespace
}  // namespace sing::lab::tune
