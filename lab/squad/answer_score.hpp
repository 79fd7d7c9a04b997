// Scores an answer as the official script of SQuAD v1.1 does.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sing::lab::squad {

// The words that scores compare: lower case, without ASCII punctuation and the articles a, an and
// the, a single space between words. Equals the script's normalize_answer, except that utf8proc
// lowers one code point to one (text::lower_case_of).
std::string normalized_answer(std::string_view answer);

struct AnswerScore {
  double exact_match = 0;  // 0 or 1
  double f1 = 0;           // harmonic mean of precision and recall over words
};

// The best of each over the right answers, of which there is at least one.
AnswerScore score_answer(std::string_view given, std::span<const std::string_view> right);

}  // namespace sing::lab::squad
