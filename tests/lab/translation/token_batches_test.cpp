// Checks how pairs of sentences are divided into batches.
#include "lab/translation/token_batches.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "lab/random/random_stream.hpp"

namespace sing::lab::translation {
namespace {

using ::testing::ElementsAre;

EncodedPairs pairs_of_lengths(const std::vector<std::pair<int, int>>& lengths) {
  EncodedPairs pairs;
  for (const auto& [source, target] : lengths) {  // their ends count too
    pairs.source.add(std::vector<Piece>(static_cast<std::size_t>(source - 1), 7));
    pairs.target.add(std::vector<Piece>(static_cast<std::size_t>(target - 1), 8));
  }
  return pairs;
}

EncodedPairs random_pairs(std::size_t count) {
  random::RandomStream random(1, 2, 3);
  std::vector<std::pair<int, int>> lengths;
  for (std::size_t pair = 0; pair < count; ++pair) {
    const int source = 2 + static_cast<int>(random.below(40));
    lengths.emplace_back(source, std::max(1, source - 4 + static_cast<int>(random.below(9))));
  }
  return pairs_of_lengths(lengths);
}

TEST(TokenBatches, EveryPairIsInOneBatchAndNoBatchIsTooLarge) {
  constexpr std::int64_t kTokens = 256;
  const EncodedPairs pairs = random_pairs(2000);
  const TokenBatches batches(pairs, kTokens, 5);
  std::multiset<std::uint64_t> seen;
  for (std::int64_t number = 0; number < batches.count(); ++number) {
    std::int64_t longest = 0;
    for (const std::uint64_t pair : batches.batch(number)) {
      seen.insert(pair);
      longest = std::max({longest, pairs.source.length(static_cast<std::int64_t>(pair)),
                          pairs.target.length(static_cast<std::int64_t>(pair))});
    }
    EXPECT_LE(longest * static_cast<std::int64_t>(batches.batch(number).size()), kTokens);
  }
  EXPECT_EQ(seen.size(), 2000U);
  EXPECT_EQ(std::set<std::uint64_t>(seen.begin(), seen.end()).size(), 2000U);
}

// Lengths 2, 3 and 3 in 9 tokens: one batch, whose sources need 3 · 3 places for 8 tokens, targets
// too. Length 6 does not fit beside them, and 20 fits nowhere and is alone.
TEST(TokenBatches, TheShareOfPaddingIsThatOfBothSides) {
  const TokenBatches batches(pairs_of_lengths({{20, 3}, {3, 2}, {2, 3}, {3, 3}, {6, 6}}), 9, 0);
  EXPECT_EQ(batches.count(), 3);
  EXPECT_EQ(batches.batch(0).size(), 3U);
  EXPECT_THAT(batches.batch(1), ElementsAre(4U));
  EXPECT_THAT(batches.batch(2), ElementsAre(0U));
  EXPECT_DOUBLE_EQ(batches.padding_share(), 2.0 / (9 + 9 + 6 + 6 + 20 + 3));
}

TEST(TokenBatches, LittleIsPaddingIfThereAreManyPairs) {
  EXPECT_LT(TokenBatches(random_pairs(20'000), 1024, 0).padding_share(), 0.05);
}

TEST(TokenBatches, EpochsHaveTheSameBatchesInAnotherOrder) {
  const TokenBatches batches(random_pairs(2000), 256, 5);
  std::vector<std::uint64_t> one = batches.order(0);
  std::vector<std::uint64_t> other = batches.order(1);
  EXPECT_EQ(one, batches.order(0));
  EXPECT_NE(one, other);
  std::sort(one.begin(), one.end());
  std::sort(other.begin(), other.end());
  EXPECT_EQ(one, other);
  EXPECT_EQ(one.size(), static_cast<std::size_t>(batches.count()));
}

}  // namespace
}  // namespace sing::lab::translation
