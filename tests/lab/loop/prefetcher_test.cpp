// Checks the thread that makes items before they are used.
#include "lab/loop/prefetcher.hpp"

#include <gtest/gtest.h>

namespace sing::lab::loop {
namespace {

TEST(Prefetcher, GivesItemsInOrderAndStopsWhenNotWanted) {
  Prefetcher<std::int64_t> all([](std::int64_t at) { return at * at; }, 3, 40);
  for (std::int64_t at = 3; at < 40; ++at) {
    EXPECT_EQ(all.next(), at * at);
  }
  Prefetcher<std::int64_t> endless([](std::int64_t at) { return at; }, 0, 1'000'000'000'000);
  EXPECT_EQ(endless.next(), 0);
}

TEST(Prefetcher, RethrowsTheMakersExceptionAfterTheItemsBeforeIt) {
  Prefetcher<int> failing(
      [](std::int64_t at) {
        return at < 2 ? static_cast<int>(at) : throw std::runtime_error("no third");
      },
      0, 5);
  EXPECT_EQ(failing.next(), 0);
  EXPECT_EQ(failing.next(), 1);
  EXPECT_THROW(failing.next(), std::runtime_error);
}

}  // namespace
}  // namespace sing::lab::loop
