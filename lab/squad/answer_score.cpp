// Implements the normalization and the scores.
#include "lab/squad/answer_score.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "lab/text/code_points.hpp"

namespace sing::lab::squad {
namespace {

bool is_ascii_punctuation(std::int32_t code_point) {
  return (code_point >= 33 && code_point <= 47) || (code_point >= 58 && code_point <= 64) ||
         (code_point >= 91 && code_point <= 96) || (code_point >= 123 && code_point <= 126);
}

// A run of word characters of Python's regular expressions, or one other character. The underscore
// is punctuation and gone before.
struct Run {
  std::string text;
  bool is_space;
};

std::vector<Run> runs_of(std::string_view answer) {
  std::vector<Run> runs;
  bool is_open = false;  // whether the last run is of word characters
  for (const text::CodePoint& each : text::code_points_of(answer)) {
    const std::int32_t lowered = text::lower_case_of(each.value);
    if (is_ascii_punctuation(lowered)) {
      continue;
    }
    const bool is_word = text::is_alphanumeric(lowered);
    if (!is_word || !is_open) {
      runs.push_back({{}, text::is_python_space(lowered)});
    }
    text::append_utf8(runs.back().text, lowered);
    is_open = is_word;
  }
  return runs;
}

std::vector<std::string_view> words_of(std::string_view normalized) {
  std::vector<std::string_view> words;
  while (!normalized.empty()) {
    const std::size_t end = std::min(normalized.find(' '), normalized.size());
    words.push_back(normalized.substr(0, end));
    normalized.remove_prefix(std::min(end + 1, normalized.size()));
  }
  return words;
}

double f1_of(const std::vector<std::string_view>& given,
             const std::vector<std::string_view>& right) {
  std::map<std::string_view, int> left;
  for (const std::string_view word : right) {
    ++left[word];
  }
  int same = 0;
  for (const std::string_view word : given) {
    const auto found = left.find(word);
    if (found != left.end() && found->second > 0) {
      --found->second;
      ++same;
    }
  }
  if (same == 0) {
    return 0;
  }
  const double precision = 1.0 * same / static_cast<double>(given.size());
  const double recall = 1.0 * same / static_cast<double>(right.size());
  return 2 * precision * recall / (precision + recall);
}

}  // namespace

std::string normalized_answer(std::string_view answer) {
  std::string normalized;
  bool is_apart = false;  // whether a space stood before
  for (const Run& run : runs_of(answer)) {
    if (run.is_space || run.text == "a" || run.text == "an" || run.text == "the") {
      is_apart = true;
      continue;
    }
    if (is_apart && !normalized.empty()) {
      normalized += ' ';
    }
    is_apart = false;
    normalized += run.text;
  }
  return normalized;
}

AnswerScore score_answer(std::string_view given, std::span<const std::string_view> right) {
  const std::string normalized = normalized_answer(given);
  const std::vector<std::string_view> words = words_of(normalized);
  AnswerScore best;
  for (const std::string_view each : right) {
    const std::string other = normalized_answer(each);
    best.exact_match = std::max(best.exact_match, normalized == other ? 1.0 : 0.0);
    best.f1 = std::max(best.f1, f1_of(words, words_of(other)));
  }
  return best;
}

}  // namespace sing::lab::squad
