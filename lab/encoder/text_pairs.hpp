// Makes the token sequences that encoders read: two texts with special tokens around them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/model/encoder_shape.hpp"
#include "lab/text/wordpiece.hpp"

namespace sing::lab::encoder {

// Numbers of tokens, each with its type: 0 for the first text and 1 for the second.
struct Sequence {
  std::vector<std::int64_t> ids, types;
};

// BERT reads [CLS] first [SEP] second [SEP], MPNet <s> first </s></s> second </s>.
class TextPairs {
 public:
  // Throws std::invalid_argument for a vocabulary without the encoder's special tokens.
  TextPairs(model::EncoderKind kind, const std::vector<std::string>& vocabulary, bool lower_case);

  std::vector<text::PlacedToken> tokens(std::string_view text) const {
    return wordpiece_.tokens(text);
  }
  Sequence join(std::span<const text::PlacedToken> first,
                std::span<const text::PlacedToken> second) const;

  std::int64_t special_count() const { return 2 + separators_; }  // in a sequence
  std::int64_t padding() const { return padding_; }

 private:
  bool has_types_;
  text::WordPiece wordpiece_;
  std::int64_t separators_;  // between the texts
  std::int64_t begin_, end_, padding_;
};

// The special tokens of a kind of encoder, with the one for unknown words last.
std::span<const std::string_view> special_tokens(model::EncoderKind kind);

}  // namespace sing::lab::encoder
