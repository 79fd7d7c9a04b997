// Divides pairs of sentences into batches of similar lengths with a limited number of tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/translation/prepared_text.hpp"

namespace sing::lab::translation {

// Sentences in the order of the longer of both sides are cut into batches in which rows × longest
// sentence is at most `tokens` for both sides; a longer pair is a batch of its own. The seed
// decides which of equally long pairs come together and in which order an epoch has the batches.
class TokenBatches {
 public:
  TokenBatches(const EncodedPairs& pairs, std::int64_t tokens, std::uint64_t seed);

  std::int64_t count() const { return static_cast<std::int64_t>(begins_.size()) - 1; }
  // The numbers of the pairs of a batch, the longest last.
  std::span<const std::uint64_t> batch(std::int64_t number) const;
  // The numbers of the batches in the order of an epoch.
  std::vector<std::uint64_t> order(std::int64_t epoch) const;

  // Share of the tokens of both sides that only fill up shorter sentences.
  double padding_share() const { return padding_share_; }

 private:
  std::uint64_t seed_;
  std::vector<std::uint64_t> pairs_;
  std::vector<std::size_t> begins_ = {0};  // first pair of each batch, and the end
  double padding_share_ = 0;
};

}  // namespace sing::lab::translation
