// Counts n-grams and turns the counts into BLEU.
#include "lab/text/bleu.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "lab/text/words.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::text {
namespace {

bool is_digit(char character) { return character >= '0' && character <= '9'; }

// ASCII punctuation that is always a token of its own: all but ' , - and .
bool always_splits(char character) {
  const auto within = [&](char low, char high) { return character >= low && character <= high; };
  return within('{', '~') || within('[', '`') || within(' ', '&') || within('(', '+') ||
         within(':', '@') || character == '/';
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t place = 0; (place = text.find(from, place)) != std::string::npos;) {
    text.replace(place, from.size(), to);
    place += to.size();
  }
}

// Replaces each match of a pattern of two characters, from left to right without overlap.
template <class IsMatch, class Append>
std::string replace_pairs(const std::string& text, IsMatch is_match, Append append) {
  std::string replaced;
  for (std::size_t place = 0; place < text.size();) {
    if (place + 1 < text.size() && is_match(text[place], text[place + 1])) {
      append(replaced, text[place], text[place + 1]);
      place += 2;
    } else {
      replaced += text[place++];
    }
  }
  return replaced;
}

constexpr std::size_t kOrders = BleuCounts::kOrders;
using Ngram = std::array<std::int32_t, kOrders>;  // numbers of tokens; -1 after a shorter one
using NgramCounts = std::map<Ngram, std::int64_t>;

NgramCounts count_ngrams(const std::vector<std::int32_t>& tokens) {
  NgramCounts counts;
  for (std::size_t begin = 0; begin < tokens.size(); ++begin) {
    Ngram ngram;
    ngram.fill(-1);
    for (std::size_t order = 0; order < kOrders && begin + order < tokens.size(); ++order) {
      ngram[order] = tokens[begin + order];
      ++counts[ngram];
    }
  }
  return counts;
}

std::size_t order_of(const Ngram& ngram) {
  return static_cast<std::size_t>(std::find(ngram.begin(), ngram.end(), -1) - ngram.begin());
}

}  // namespace

// The steps and their order are those of sacrebleu's Tokenizer13a and TokenizerRegexp. Their
// patterns look at characters; looking at bytes finds the same places, because the bytes of other
// characters are neither digits nor punctuation.
std::vector<std::string> tokenize_13a(std::string_view given) {
  while (!given.empty()) {  // trailing white space, as sacrebleu removes it before the rest
    std::size_t last = given.size() - 1;
    while (last > 0 && (static_cast<unsigned char>(given[last]) & 0xC0U) == 0x80) {
      --last;
    }
    if (white_space_at(given.substr(last)) == 0) {
      break;
    }
    given.remove_suffix(given.size() - last);
  }
  std::string line(given);
  replace_all(line, "<skipped>", "");
  replace_all(line, "-\n", "");
  replace_all(line, "\n", " ");
  replace_all(line, "&quot;", "\"");
  replace_all(line, "&amp;", "&");
  replace_all(line, "&lt;", "<");
  replace_all(line, "&gt;", ">");
  std::string split = " ";
  for (const char character : line) {
    if (always_splits(character)) {
      split += {' ', character, ' '};
    } else {
      split += character;
    }
  }
  split += ' ';
  const auto is_point = [](char character) { return character == '.' || character == ','; };
  split = replace_pairs(
      split, [&](char first, char second) { return !is_digit(first) && is_point(second); },
      [](std::string& out, char first, char second) { out += {first, ' ', second, ' '}; });
  split = replace_pairs(
      split, [&](char first, char second) { return is_point(first) && !is_digit(second); },
      [](std::string& out, char first, char second) { out += {' ', first, ' ', second}; });
  split = replace_pairs(
      split, [](char first, char second) { return is_digit(first) && second == '-'; },
      [](std::string& out, char first, char second) { out += {first, ' ', second, ' '}; });
  const std::vector<std::string_view> words = split_words(split);
  return {words.begin(), words.end()};
}

void BleuCounts::add_views(const std::vector<std::string_view>& hypothesis,
                           const std::vector<std::string_view>& reference) {
  std::unordered_map<std::string_view, std::int32_t> numbers;
  const auto numbered = [&](const std::vector<std::string_view>& tokens) {
    std::vector<std::int32_t> found;
    for (const std::string_view token : tokens) {
      found.push_back(
          numbers.try_emplace(token, static_cast<std::int32_t>(numbers.size())).first->second);
    }
    return found;
  };
  const NgramCounts wanted = count_ngrams(numbered(reference));
  for (const auto& [ngram, count] : count_ngrams(numbered(hypothesis))) {
    const std::size_t order = order_of(ngram);
    const auto found = wanted.find(ngram);
    totals_[order - 1] += count;
    matches_[order - 1] += found == wanted.end() ? 0 : std::min(count, found->second);
  }
  hypothesis_length_ += static_cast<std::int64_t>(hypothesis.size());
  reference_length_ += static_cast<std::int64_t>(reference.size());
}

double BleuCounts::brevity_penalty() const {
  if (hypothesis_length_ >= reference_length_) {
    return 1;
  }
  return hypothesis_length_ == 0 ? 0
                                 : std::exp(1 - static_cast<double>(reference_length_) /
                                                    static_cast<double>(hypothesis_length_));
}

double BleuCounts::smoothed_score() const {
  if (matches_[0] == 0 || totals_.back() == 0) {
    return 0;
  }
  double divisor = 1;
  double logarithms = 0;
  for (std::size_t order = 0; order < kOrders; ++order) {
    const bool matched = matches_[order] > 0;
    divisor *= matched ? 1 : 2;
    const double precision = matched ? static_cast<double>(matches_[order]) : 1 / divisor;
    logarithms += std::log(100 * precision / static_cast<double>(totals_[order]));
  }
  return brevity_penalty() * std::exp(logarithms / kOrders);
}

double BleuCounts::plain_score() const {
  return matches_.back() == 0 ? 0 : smoothed_score();  // with a 4-gram match every order has one
}

BleuScores bleu_of(const std::vector<std::string>& hypotheses,
                   const std::vector<std::string>& references) {
  SING_CHECK(hypotheses.size() == references.size(),
             "[bleu] wanted as many hypotheses as the {} references, got {}", references.size(),
             hypotheses.size());
  BleuCounts official;
  BleuCounts tokenized;
  for (std::size_t line = 0; line < references.size(); ++line) {
    official.add(tokenize_13a(hypotheses[line]), tokenize_13a(references[line]));
    tokenized.add(split_words(hypotheses[line]), split_words(references[line]));
  }
  return {official.smoothed_score(), tokenized.plain_score()};
}

}  // namespace sing::lab::text
