// Divides pairs of sentences into batches.
#include "lab/translation/token_batches.hpp"

#include <algorithm>
#include <tuple>

#include "lab/random/shuffled.hpp"

namespace sing::lab::translation {
namespace {

// Tell the random numbers apart that are drawn with the same seed.
constexpr std::uint32_t kTiesPurpose = 0x74696573;
constexpr std::uint32_t kOrderPurpose = 0x6f726472;

}  // namespace

TokenBatches::TokenBatches(const EncodedPairs& pairs, std::int64_t tokens, std::uint64_t seed)
    : seed_(seed), pairs_(random::shuffled(pairs.count(), {seed, 0, kTiesPurpose})) {
  const auto lengths = [&](std::uint64_t pair) {
    const auto number = static_cast<std::int64_t>(pair);
    return std::pair(pairs.source.length(number), pairs.target.length(number));
  };
  std::stable_sort(pairs_.begin(), pairs_.end(), [&](std::uint64_t one, std::uint64_t other) {
    const auto key = [&](std::uint64_t pair) {
      const auto [source, target] = lengths(pair);
      return std::tuple(std::max(source, target), source, target);
    };
    return key(one) < key(other);
  });
  std::int64_t longest_source = 0;
  std::int64_t longest_target = 0;
  std::int64_t filled = 0;
  const auto close = [&](std::size_t end) {
    filled += static_cast<std::int64_t>(end - begins_.back()) * (longest_source + longest_target);
    longest_source = longest_target = 0;
    begins_.push_back(end);
  };
  for (std::size_t place = 0; place < pairs_.size(); ++place) {
    const auto [source, target] = lengths(pairs_[place]);
    const auto rows = static_cast<std::int64_t>(place - begins_.back()) + 1;
    // The pair is at least as long as those before it.
    if (rows > 1 && rows * std::max(source, target) > tokens) {
      close(place);
    }
    longest_source = std::max(longest_source, source);
    longest_target = std::max(longest_target, target);
  }
  close(pairs_.size());
  const auto used = pairs.source.pieces().size() + pairs.target.pieces().size();
  padding_share_ = 1 - static_cast<double>(used) / static_cast<double>(filled);
}

std::span<const std::uint64_t> TokenBatches::batch(std::int64_t number) const {
  const auto place = static_cast<std::size_t>(number);
  return std::span(pairs_).subspan(begins_[place], begins_[place + 1] - begins_[place]);
}

std::vector<std::uint64_t> TokenBatches::order(std::int64_t epoch) const {
  return random::shuffled(count(), {seed_, static_cast<std::uint64_t>(epoch), kOrderPurpose});
}

}  // namespace sing::lab::translation
