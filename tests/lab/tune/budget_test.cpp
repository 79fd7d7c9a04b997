// Checks the search with a fixed number of runs against walks computed by hand.
#include "lab/tune/budget.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/tune/ladder.hpp"

namespace sing::lab::tune {
namespace {

using run::EndRecord;
using run::RunStatus;
using ::testing::ElementsAre;

Trial finished(double accuracy) {
  return {.end = EndRecord{.final_accuracy = accuracy, .final_loss = 1}};
}

// Gives the accuracy of each place; a place without one diverges. Records the batches of places.
struct Hill {
  std::map<int, double> accuracies;
  std::vector<std::vector<int>> batches;

  BudgetResult climb(int runs, TriedPlaces tried = {}) {
    return spend(runs, std::move(tried), [&](const std::vector<int>& places) {
      batches.push_back(places);
      std::vector<Trial> trials;
      for (const int place : places) {
        const auto found = accuracies.find(place);
        trials.push_back(found != accuracies.end()
                             ? finished(found->second)
                             : Trial{.end = EndRecord{.status = RunStatus::kDiverged}});
      }
      return std::optional(trials);
    });
  }
};

using Places = std::vector<int>;

TEST(Budget, EnclosesTheBestThenTriesItsNeighbors) {
  Hill hill{.accuracies = {{-2, 0.1}, {-1, 0.4}, {0, 0.5}, {1, 0.6}, {2, 0.3}, {3, 0.2}, {4, 0.1}}};
  const BudgetResult result = hill.climb(7);
  // 2 is better than −2, so 1 comes before −1. Then 1 is the best, between 0 and 2, which are
  // known.
  EXPECT_THAT(hill.batches, ElementsAre(Places{0, -2, 2}, Places{1, -1}, Places{3}, Places{4}));
  EXPECT_EQ(result.best, 1);
  EXPECT_TRUE(result.settled);
}

TEST(Budget, GoesBeyondAnEndInWideSteps) {
  Hill hill{.accuracies = {{-2, 0.1}, {0, 0.2}, {2, 0.3}, {4, 0.4}, {6, 0.35}, {5, 0.3}, {3, 0.3}}};
  const BudgetResult result = hill.climb(7);
  EXPECT_THAT(hill.batches, ElementsAre(Places{0, -2, 2}, Places{4}, Places{6}, Places{5, 3}));
  EXPECT_EQ(result.best, 4);
  EXPECT_TRUE(result.settled);
}

TEST(Budget, ADivergedNeighborIsTheWorseSide) {
  Hill hill{.accuracies = {{-2, 0.1}, {0, 0.2}}};
  EXPECT_EQ(hill.climb(4).best, 0);
  EXPECT_THAT(hill.batches, ElementsAre(Places{0, -2, 2}, Places{-1}));
}

TEST(Budget, WhereAllDivergeSmallerValuesAreTried) {
  Hill hill;
  const BudgetResult result = hill.climb(5);
  EXPECT_THAT(hill.batches, ElementsAre(Places{0, -2, 2}, Places{-4}, Places{-6}));
  EXPECT_EQ(result.best, std::nullopt);
  EXPECT_FALSE(result.settled);
}

TEST(Budget, EveryHillGetsTheSameNumberOfRuns) {
  for (int peak = -8; peak <= 8; ++peak) {
    Hill hill;
    for (int place = -40; place <= 40; ++place) {
      hill.accuracies[place] = 1 - 0.01 * std::abs(place - peak);
    }
    EXPECT_EQ(hill.climb(7).tried.size(), 7U) << peak;
  }
}

TEST(Budget, KnownResultsCostNoRuns) {
  Hill hill{.accuracies = {{-2, 0.3}, {-1, 0.4}, {0, 0.5}, {1, 0.4}, {2, 0.2}}};
  const BudgetResult result = hill.climb(4, {{0, finished(0.5)}});
  EXPECT_THAT(hill.batches, ElementsAre(Places{-2, 2}, Places{-1, 1}));
  EXPECT_EQ(result.tried.size(), 5U);
  EXPECT_EQ(result.best, 0);
}

TEST(Budget, AStopEndsIt) {
  int calls = 0;
  const BudgetResult result = spend(7, {}, [&](const Places&) {
    ++calls;
    return std::optional<std::vector<Trial>>();
  });
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(calls, 1);
}

TEST(Ladder, AroundAMiddleHasFourRatesPerDecade) {
  EXPECT_THAT(values_of(ladder_around(0.05, 4), {-4, 4}),
              ElementsAre(0.005, 0.0089, 0.016, 0.028, 0.05, 0.089, 0.16, 0.28, 0.5));
  EXPECT_THAT(values_of(ladder_around(0.0123, 2), {-1, 1}), ElementsAre(0.0039, 0.0123, 0.039));
}

}  // namespace
}  // namespace sing::lab::tune
