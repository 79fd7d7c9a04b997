// Makes the four token sequences of a question.
#pragma once

#include <array>
#include <cstdint>

#include "lab/choice/choice_item.hpp"
#include "lab/encoder/text_pairs.hpp"

namespace sing::lab::choice {

// The context with each of the endings, of at most `length` tokens: the longer text loses tokens at
// its end until both fit, as with transformers' truncation "longest_first".
std::array<encoder::Sequence, kEndings> sequences_of(const ChoiceItem& item,
                                                     const encoder::TextPairs& pairs,
                                                     std::int64_t length);

}  // namespace sing::lab::choice
