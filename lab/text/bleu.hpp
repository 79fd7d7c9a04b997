// Computes BLEU (Papineni et al. 2002) of a corpus with one reference per sentence, as the two
// programs do whose numbers papers report.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sing::lab::text {

// The tokens that sacrebleu's default tokenizer 13a (that of mteval-v13a.pl) finds in a line.
std::vector<std::string> tokenize_13a(std::string_view line);

// The counts from which BLEU is computed. Adding sentences adds their counts.
class BleuCounts {
 public:
  static constexpr std::size_t kOrders = 4;

  // Tokens of a hypothesis and of its reference.
  template <class Token>
  void add(const std::vector<Token>& hypothesis, const std::vector<Token>& reference) {
    add_views({hypothesis.begin(), hypothesis.end()}, {reference.begin(), reference.end()});
  }

  // sacrebleu's score of a corpus, 0 … 100: the geometric mean of the precisions of 1- to 4-grams
  // times the brevity penalty. An order without a match gets the precision 1 / (2^k · count) as the
  // k-th such order ("exp" smoothing); a corpus without 4-grams has score 0.
  double smoothed_score() const;
  // fairseq's score: the same without smoothing, so that an order without a match makes it 0.
  double plain_score() const;

  std::int64_t hypothesis_length() const { return hypothesis_length_; }
  std::int64_t reference_length() const { return reference_length_; }
  std::int64_t matches(std::size_t order) const { return matches_.at(order - 1); }  // 1-grams: 1
  std::int64_t total(std::size_t order) const { return totals_.at(order - 1); }

 private:
  void add_views(const std::vector<std::string_view>& hypothesis,
                 const std::vector<std::string_view>& reference);
  double brevity_penalty() const;

  std::array<std::int64_t, kOrders> matches_{};
  std::array<std::int64_t, kOrders> totals_{};  // n-grams of the hypotheses
  std::int64_t hypothesis_length_ = 0;
  std::int64_t reference_length_ = 0;
};

// Both scores of lines of text. Throws std::invalid_argument if there are not as many hypotheses as
// references.
struct BleuScores {
  double sacrebleu = 0;  // 13a, exp, case-sensitive
  double tokenized = 0;  // fairseq: tokens are what white space separates
};
BleuScores bleu_of(const std::vector<std::string>& hypotheses,
                   const std::vector<std::string>& references);

}  // namespace sing::lab::text
