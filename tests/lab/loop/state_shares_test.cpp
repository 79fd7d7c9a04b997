// Checks which rank has the state of which parameter, and what the ranks tell each other about it.
#include "lab/loop/state_shares.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <string>
#include <vector>

#include "sing/base/message.hpp"
#include "tests/lab/loop/one_of_twins.hpp"
#include "tests/support/message_of.hpp"

namespace sing::test {
namespace {

using lab::loop::StateShares;
using testing::ElementsAre;
using testing::Pair;

std::vector<sing::torch::NamedTensor> parameters_of(const std::vector<std::int64_t>& sizes) {
  std::vector<sing::torch::NamedTensor> parameters;
  for (const std::int64_t size : sizes) {
    parameters.emplace_back(fmt::format("of_{}", size), at::zeros({size}));
  }
  return parameters;
}

std::vector<std::string> names_of_own(int rank, int count, const std::vector<std::int64_t>& sizes) {
  OneOfTwins ranks(rank, count);
  const StateShares shares(ranks, parameters_of(sizes), /*shared=*/true);
  const sing::torch::Parameters own = shares.own();
  std::vector<std::string> names;
  for (const auto& [name, tensor] : own.tensors()) {
    EXPECT_TRUE(shares.is_own(name));
    names.push_back(name);
  }
  return names;
}

// Each parameter, the largest first, goes to the rank with the fewest elements.
TEST(StateShares, AreOfAboutEqualSize) {
  EXPECT_THAT(names_of_own(0, 2, {1, 8, 3, 4}), ElementsAre("of_8"));
  EXPECT_THAT(names_of_own(1, 2, {1, 8, 3, 4}), ElementsAre("of_1", "of_3", "of_4"));
  EXPECT_THAT(names_of_own(0, 3, {2, 5, 7, 6}), ElementsAre("of_7"));
  EXPECT_THAT(names_of_own(1, 3, {2, 5, 7, 6}), ElementsAre("of_6"));
  EXPECT_THAT(names_of_own(2, 3, {2, 5, 7, 6}), ElementsAre("of_2", "of_5"));
}

TEST(StateShares, AreEverythingIfNothingIsShared) {
  OneOfTwins ranks(1, 2);
  StateShares shares(ranks, parameters_of({1, 8}), /*shared=*/false);
  EXPECT_FALSE(shares.is_shared());
  EXPECT_EQ(shares.own().tensors().size(), 2U);
  EXPECT_FALSE(shares.is_own("absent"));
  shares.exchange();
  EXPECT_THAT(ranks.broadcasts(), ElementsAre());
}

TEST(StateShares, NeedAParameterForEachRank) {
  OneOfTwins ranks(0, 3);
  EXPECT_EQ(message_of<std::invalid_argument>(
                [&] { StateShares(ranks, parameters_of({1, 8}), /*shared=*/true); }),
            "[--shard-state] wanted at most one rank for each of 2 parameters, got 3");
}

TEST(StateShares, EachRankSendsItsParameters) {
  OneOfTwins ranks(0, 2);
  StateShares shares(ranks, parameters_of({1, 8, 3, 5}), /*shared=*/true);
  shares.exchange();
  EXPECT_THAT(ranks.broadcasts(), ElementsAre(Pair(0, 9), Pair(1, 8)));
}

// Every sum is twice that of this rank, because its twin has the same numbers.
TEST(StateShares, NormsAndCountsAreThoseOfAllRanks) {
  OneOfTwins ranks(1, 2);
  StateShares shares(ranks, parameters_of({1, 8, 3, 5}), /*shared=*/true);
  EXPECT_THAT(
      shares.all_norms({{"of_3", 2.0}, {"of_5", 3.0}}),
      ElementsAre(Pair("of_1", 0.0), Pair("of_8", 0.0), Pair("of_3", 4.0), Pair("of_5", 6.0)));
  const OptimizerProgress all = shares.total({.skipped_steps = 5, .skipped_tensors = 7});
  EXPECT_EQ(all.skipped_tensors, 14);
  EXPECT_EQ(all.skipped_steps, 5);
}

}  // namespace
}  // namespace sing::test
