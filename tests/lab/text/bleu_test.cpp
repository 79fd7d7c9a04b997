// Checks BLEU on cases computed by hand. bleu_reference_test.py compares it with the package
// sacrebleu.
#include "lab/text/bleu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/message_of.hpp"

namespace sing::lab::text {
namespace {

using test::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Scores are up to 100 and come from four logarithms, an exponential and a few products.
constexpr double kRounding = 100 * 16 * 2.3e-16;

TEST(Tokenizer13a, SplitsPunctuationButNotInsideNumbers) {
  EXPECT_THAT(tokenize_13a("Hello, world!"), ElementsAre("Hello", ",", "world", "!"));
  EXPECT_THAT(tokenize_13a("1,000.5 km"), ElementsAre("1,000.5", "km"));
  EXPECT_THAT(tokenize_13a("a.b, 3. 4"), ElementsAre("a", ".", "b", ",", "3", ".", "4"));
  EXPECT_THAT(tokenize_13a("well-known 1990-er"), ElementsAre("well-known", "1990", "-", "er"));
  EXPECT_THAT(tokenize_13a("don't (stop)"), ElementsAre("don't", "(", "stop", ")"));
}

TEST(Tokenizer13a, ResolvesEntitiesOnceAndRemovesMarks) {
  EXPECT_THAT(tokenize_13a("&quot;A&amp;B&quot; &lt;x&gt;"),
              ElementsAre("\"", "A", "&", "B", "\"", "<", "x", ">"));
  EXPECT_THAT(tokenize_13a("a<skipped>b"), ElementsAre("ab"));
}

TEST(Tokenizer13a, SplitsAtUnicodeWhiteSpaceAndKeepsOtherCharactersWhole) {
  EXPECT_THAT(tokenize_13a("Grüße\u00A0an\u3000dich…\u2028"), ElementsAre("Grüße", "an", "dich…"));
  EXPECT_THAT(tokenize_13a(" \t\u00A0"), IsEmpty());
}

TEST(Bleu, AnEqualCorpusScores100) {
  const std::vector<std::string> lines = {"the cat sat on the mat .", "it did ."};
  const BleuScores scores = bleu_of(lines, lines);
  EXPECT_NEAR(scores.sacrebleu, 100, kRounding);
  EXPECT_NEAR(scores.tokenized, 100, kRounding);
}

// Hypothesis "the the cat sat down": matches of 1-grams the, cat, sat (the second "the" has no
// partner): 3 of 5; 2-grams "the cat", "cat sat": 2 of 4; 3-grams "the cat sat": 1 of 3; 4-grams: 0
// of 2, smoothed to 1/2. Lengths 5 and 6: brevity penalty e^(1 − 6/5).
TEST(Bleu, CountsAreClippedAndAnOrderWithoutMatchIsHalved) {
  const std::vector<std::string> hypothesis = {"the the cat sat down"};
  const std::vector<std::string> reference = {"the cat sat on a mat"};
  const BleuScores scores = bleu_of(hypothesis, reference);
  const double product = 3.0 / 5 * 2.0 / 4 * 1.0 / 3 * (0.5 / 2);
  EXPECT_NEAR(scores.sacrebleu, 100 * std::exp(-0.2) * std::pow(product, 0.25), kRounding);
  EXPECT_EQ(scores.tokenized, 0);
}

// Two orders without a match: 1/2 of a match for the first, 1/4 for the second. "a b" matches, and
// no longer n-gram does: 3-grams 2, 4-grams 1.
TEST(Bleu, TheSecondOrderWithoutMatchIsHalvedAgain) {
  BleuCounts counts;
  counts.add(std::vector<std::string>{"a", "b", "x", "y"}, {"z", "a", "b", "w"});
  EXPECT_NEAR(counts.smoothed_score(),
              100 * std::pow(2.0 / 4 * 1.0 / 3 * (0.5 / 2) * (0.25 / 1), 0.25), kRounding);
  EXPECT_EQ(counts.matches(2), 1);
  EXPECT_EQ(counts.total(4), 1);
}

// Line 1: matches 5, 4, 3, 2 of 5, 4, 3, 2. Line 2: 0 of 3, 2, 1, 0. The sums, not the means,
// count.
TEST(Bleu, LinesAddTheirCounts) {
  const std::vector<std::string> hypotheses = {"a b c d e", "x y z"};
  const std::vector<std::string> references = {"a b c d e", "u v w"};
  const double expected = 100 * std::pow(5.0 / 8 * 4.0 / 6 * 3.0 / 4 * 2.0 / 2, 0.25);
  EXPECT_NEAR(bleu_of(hypotheses, references).sacrebleu, expected, kRounding);
  EXPECT_NEAR(bleu_of(hypotheses, references).tokenized, expected, kRounding);
}

TEST(Bleu, CaseCountsAndALongHypothesisHasNoPenalty) {
  const std::vector<std::string> reference = {"A b c d"};
  EXPECT_EQ(bleu_of({"a B C D"}, reference).sacrebleu, 0);
  EXPECT_NEAR(bleu_of({"A b c d e"}, reference).tokenized,
              100 * std::pow(4.0 / 5 * 3.0 / 4 * 2.0 / 3 * 1.0 / 2, 0.25), kRounding);
}

TEST(Bleu, EmptyHypothesesScoreZero) {
  EXPECT_EQ(bleu_of({"", ""}, {"a b c d", "e"}).sacrebleu, 0);
  EXPECT_EQ(bleu_of({}, {}).tokenized, 0);
}

// "x," is one token between spaces and two of 13a.
TEST(Bleu, TheTokenizedScoreSeesOnlyWhiteSpace) {
  const BleuScores scores = bleu_of({"a b c d, e"}, {"a b c d , e"});
  EXPECT_NEAR(scores.sacrebleu, 100, kRounding);
  EXPECT_EQ(scores.tokenized, 0);
}

TEST(Bleu, ADifferentNumberOfLinesIsRefused) {
  EXPECT_THAT(message_of<std::invalid_argument>([] { bleu_of({"a"}, {}); }),
              HasSubstr("[bleu] wanted as many hypotheses as the 0 references, got 1"));
}

}  // namespace
}  // namespace sing::lab::text
