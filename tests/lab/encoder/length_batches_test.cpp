// Checks that batches of an epoch hold each sequence at most once, in similar lengths.
#include "lab/encoder/length_batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "lab/random/random_stream.hpp"

namespace sing::lab::encoder {
namespace {

constexpr std::int64_t kSequences = 4099;
constexpr std::int64_t kBatch = 8;

std::vector<std::int64_t> random_lengths() {
  random::RandomStream random(3, 0, 0);
  std::vector<std::int64_t> lengths(kSequences);
  for (std::int64_t& each : lengths) {
    each = 10 + random.below(375);
  }
  return lengths;
}

TEST(LengthBatches, AnEpochHasEachSequenceAtMostOnce) {
  LengthBatches batches(random_lengths(), 7);
  std::set<std::uint64_t> seen;
  for (std::int64_t index = 0; index < kSequences / kBatch; ++index) {
    const auto batch = batches.training(0, index, kBatch);
    EXPECT_EQ(std::ssize(batch), kBatch);
    seen.insert(batch.begin(), batch.end());
  }
  EXPECT_EQ(std::ssize(seen), kSequences / kBatch * kBatch);
}

// Within a pool of 512 sequences of 375 different lengths, neighbors of a batch of 8 are in the
// mean 375 · 7 / 512 = 5.1 apart, of a mean length of 197: less than 2 % is filled up on one side.
// Columns in steps of 8 add 3.5 places of 197.
TEST(LengthBatches, LittleOfABatchIsFilledUp) {
  const std::vector<std::int64_t> lengths = random_lengths();
  LengthBatches batches(lengths, 7);
  std::int64_t tokens = 0;
  std::int64_t places = 0;
  for (std::int64_t index = 0; index < kSequences / kBatch; ++index) {
    std::int64_t longest = 0;
    for (const std::uint64_t sequence : batches.training(0, index, kBatch)) {
      tokens += lengths[sequence];
      longest = std::max(longest, lengths[sequence]);
    }
    places += columns_for(longest, 384) * kBatch;
  }
  EXPECT_LT(places, 1.05 * static_cast<double>(tokens));
  EXPECT_DOUBLE_EQ(batches.padding_share(kBatch, 384),
                   1 - static_cast<double>(tokens) / static_cast<double>(places));
}

TEST(LengthBatches, ColumnsAreMultiplesOfEightUpToTheLimit) {
  EXPECT_EQ(columns_for(1, 384), 8);
  EXPECT_EQ(columns_for(16, 384), 16);
  EXPECT_EQ(columns_for(17, 384), 24);
  EXPECT_EQ(columns_for(381, 382), 382);
}

TEST(LengthBatches, EpochAndSeedChangeTheBatchesAndNothingElseDoes) {
  const auto batch_of = [](LengthBatches& batches, std::int64_t epoch, std::int64_t index) {
    const auto batch = batches.training(epoch, index, kBatch);
    return std::vector<std::uint64_t>(batch.begin(), batch.end());
  };
  LengthBatches one(random_lengths(), 7);
  LengthBatches other(random_lengths(), 7);
  LengthBatches third(random_lengths(), 8);
  batch_of(other, 1, 3);
  batch_of(other, 0, 17);
  EXPECT_EQ(batch_of(one, 0, 5), batch_of(other, 0, 5));
  EXPECT_NE(batch_of(one, 0, 5), batch_of(one, 1, 5));
  EXPECT_NE(batch_of(one, 0, 5), batch_of(third, 0, 5));
}

TEST(LengthBatches, AnEvaluationHasAllSequencesByLength) {
  const LengthBatches batches({5, 2, 9, 4, 7}, 0);
  const auto first = batches.evaluation(0, 3);
  const auto last = batches.evaluation(1, 3);
  EXPECT_EQ(std::vector<std::uint64_t>(first.begin(), first.end()),
            (std::vector<std::uint64_t>{1, 3, 0}));
  EXPECT_EQ(std::vector<std::uint64_t>(last.begin(), last.end()),
            (std::vector<std::uint64_t>{4, 2}));
}

}  // namespace
}  // namespace sing::lab::encoder
