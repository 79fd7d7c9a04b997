// Checks the random numbers against the test vectors of their authors' library, and their use.
#include "lab/random/philox.hpp"

#include <gtest/gtest.h>

#include <set>

#include "lab/random/random_stream.hpp"

namespace sing::lab::random {
namespace {

// The values come from the file kat_vectors of Random123, lines "philox4x32 10".
TEST(Philox, GivesTheKnownAnswersOfRandom123) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, ReadsBlockAfterBlockOfItsCounter) {
  RandomStream random(0x0000'0002'0000'0001, 0x0000'0004'0000'0003, 7);
  for (std::uint32_t block = 0; block < 3; ++block) {
    for (const std::uint32_t expected : philox({block, 7, 3, 4}, {1, 2})) {
      EXPECT_EQ(random.next(), expected);
    }
  }
}

TEST(RandomStream, DiffersBySeedItemAndPurpose) {
  std::set<std::uint32_t> first;
  for (const std::uint64_t high : {std::uint64_t{0}, std::uint64_t{1} << 40}) {
    for (std::uint64_t low = 0; low < 5; ++low) {
      first.insert(RandomStream(high + low, 0, 0).next());
      first.insert(RandomStream(9, high + low, 0).next());
      first.insert(RandomStream(9, 100, static_cast<std::uint32_t>(low)).next());
    }
  }
  EXPECT_EQ(first.size(), 10U + 10U + 5U);
}

// Without rejected draws, a third of the values would come twice as often: residue 0 in half of the
// draws. The bound is six standard deviations of a binomial share.
TEST(RandomStream, BelowHasNoBias) {
  constexpr int kDraws = 20'000;
  constexpr double kBound = 6 * 0.00334;
  RandomStream random(1, 0, 0);
  int residue_zero = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    const std::uint32_t value = random.below(3U << 30);
    EXPECT_LT(value, 3U << 30);
    residue_zero += value % 3 == 0 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(residue_zero) / kDraws, 1.0 / 3, kBound);
}

TEST(RandomStream, BelowReachesEveryValue) {
  RandomStream random(1, 0, 0);
  std::set<std::uint32_t> seen;
  for (int draw = 0; draw < 200; ++draw) {
    seen.insert(random.below(7));
  }
  EXPECT_EQ(seen, (std::set<std::uint32_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(random.below(1), 0U);
}

}  // namespace
}  // namespace sing::lab::random
