// Cuts contexts that are too long for the encoder into overlapping windows, each with its question.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/encoder/text_pairs.hpp"
#include "lab/squad/squad_file.hpp"

namespace sing::lab::squad {

struct WindowShape {
  std::int64_t length = 384;          // tokens of a window with its question and special tokens
  std::int64_t stride = 128;          // tokens from the beginning of a window to the next, at most
  std::int64_t question_length = 64;  // tokens of a question; the rest is left out
};

// A question and a part of its context, as the encoder reads it.
struct Window {
  std::size_t question;        // its place among all questions
  std::size_t paragraph;       // its place among all paragraphs
  std::int64_t first;          // the context's token with which the window begins
  std::int64_t count;          // tokens of the context
  std::int64_t context_begin;  // place of the first of them in the sequence
  std::int64_t length;         // length of the sequence in tokens
  // Places of the answer's first and last token in the sequence; both 0, the place of the first
  // special token, if the answer is not as a whole in the window.
  std::int64_t answer_begin, answer_end;
};

// The texts of a set as tokens.
struct TokenizedSet {
  std::vector<std::vector<text::PlacedToken>> contexts;   // per paragraph
  std::vector<std::vector<text::PlacedToken>> questions;  // per question, over all paragraphs
  std::vector<Window> windows;                            // in the order of the questions
};

// Throws std::invalid_argument if a window has no room for a token of the context beside a question
// of full length. `threads` share the work; the result does not depend on them.
TokenizedSet tokenize(const std::vector<Paragraph>& paragraphs, const encoder::TextPairs& pairs,
                      const WindowShape& shape, int threads);

// Returns whether no other window has the context's token `token` with more context on its nearer
// side, as in BERT's run_squad.py: of the windows of one question, the answer is read there.
// `windows` are the question's.
bool has_most_context(std::span<const Window> windows, std::size_t window, std::int64_t token);

}  // namespace sing::lab::squad
