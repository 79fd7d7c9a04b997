// Reads the answer to a question out of the scores that an encoder gives to each token.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "lab/squad/windows.hpp"

namespace sing::lab::squad {

struct ExtractionOptions {
  std::int64_t best = 20;           // first tokens, and last tokens, that are tried per window
  std::int64_t answer_length = 30;  // most tokens of an answer
};

// The scores of one window, one per token of its sequence.
struct WindowScores {
  std::span<const float> begin, end;
};

// Returns the part of the context whose first and last token have the largest sum of scores, chosen
// as in Hugging Face's run_squad.py: the last is not before the first, both belong to the context,
// and the first has its most context in that window. "" if no pair is left. `windows` are the
// question's and `scores` theirs.
std::string_view best_answer(std::span<const Window> windows, std::span<const WindowScores> scores,
                             std::string_view context, std::span<const text::PlacedToken> tokens,
                             const ExtractionOptions& options);

}  // namespace sing::lab::squad
