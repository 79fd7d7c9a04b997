// Checks windows and answers with a vocabulary of one token per letter, so that places can be
// counted by hand.
#include "lab/squad/windows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/squad/answer_extraction.hpp"
#include "sing/base/error.hpp"
#include "tests/support/message_of.hpp"

namespace sing::lab::squad {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

encoder::TextPairs letters(model::EncoderKind kind = model::EncoderKind::kBert) {
  std::vector<std::string> vocabulary;
  for (const std::string_view each : encoder::special_tokens(kind)) {
    vocabulary.emplace_back(each);
  }
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    vocabulary.emplace_back(1, letter);
  }
  return {kind, vocabulary, true};
}

std::vector<Paragraph> one_paragraph(const std::string& context, const Answer& answer) {
  return {{0, context, {{"1", "q r s", {answer}}}}};
}

TEST(Windows, BeginEveryStrideAndCoverTheContext) {
  // "a b … j": the answer "e f" has tokens 4 and 5 of 10. A window of length 10 has 3 tokens of the
  // question, 3 special ones and 4 of the context.
  const auto paragraphs = one_paragraph("a b c d e f g h i j", {"e f", 8});
  const TokenizedSet set =
      tokenize(paragraphs, letters(), {.length = 10, .stride = 2, .question_length = 5}, 1);
  ASSERT_EQ(set.windows.size(), 4U);
  std::vector<std::int64_t> first, count, begin, end;
  for (const Window& window : set.windows) {
    first.push_back(window.first);
    count.push_back(window.count);
    begin.push_back(window.answer_begin);
    end.push_back(window.answer_end);
    EXPECT_EQ(window.context_begin, 5);
    EXPECT_EQ(window.length, 6 + window.count);
  }
  EXPECT_THAT(first, ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(count, ElementsAre(4, 4, 4, 4));
  EXPECT_THAT(begin, ElementsAre(0, 7, 5, 0));  // 0: the answer is not as a whole in the window
  EXPECT_THAT(end, ElementsAre(0, 8, 6, 0));
}

TEST(Windows, AStrideLongerThanAWindowLeavesNoTokenOut) {
  // Windows of 4 tokens of the context.
  const auto paragraphs = one_paragraph("a b c d e f g h i j", {"e f", 8});
  const TokenizedSet set =
      tokenize(paragraphs, letters(), {.length = 10, .stride = 100, .question_length = 5}, 1);
  std::vector<std::int64_t> first, count;
  for (const Window& window : set.windows) {
    first.push_back(window.first);
    count.push_back(window.count);
  }
  EXPECT_THAT(first, ElementsAre(0, 4, 8));
  EXPECT_THAT(count, ElementsAre(4, 4, 2));
}

TEST(Windows, AShortContextIsOneWindowAndALongQuestionIsCut) {
  const auto paragraphs = one_paragraph("a b", {"b", 2});
  const TokenizedSet set =
      tokenize(paragraphs, letters(), {.length = 10, .stride = 2, .question_length = 2}, 1);
  ASSERT_EQ(set.windows.size(), 1U);
  EXPECT_EQ(set.windows[0].context_begin, 4);
  EXPECT_EQ(set.windows[0].length, 7);
  EXPECT_EQ(set.windows[0].answer_begin, 5);
  EXPECT_EQ(set.windows[0].answer_end, 5);
}

TEST(Windows, MpnetHasOneMoreSpecialToken) {
  const auto paragraphs = one_paragraph("a b", {"b", 2});
  const encoder::TextPairs pairs = letters(model::EncoderKind::kMpnet);
  const TokenizedSet set =
      tokenize(paragraphs, pairs, {.length = 12, .stride = 2, .question_length = 5}, 1);
  EXPECT_EQ(set.windows[0].context_begin, 6);
  const encoder::Sequence sequence = pairs.join(set.questions[0], set.contexts[0]);
  EXPECT_EQ(std::ssize(sequence.ids), set.windows[0].length);
  // <s> q r s </s></s> a b </s>; q is letter 16, behind four special tokens.
  EXPECT_THAT(sequence.ids, ElementsAre(0, 20, 21, 22, 1, 1, 4, 5, 1));
  EXPECT_THAT(sequence.types, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(Windows, BertsSequenceHasTypes) {
  const encoder::TextPairs pairs = letters();
  const encoder::Sequence sequence = pairs.join(pairs.tokens("q"), pairs.tokens("a b"));
  EXPECT_THAT(sequence.ids, ElementsAre(0, 20, 1, 4, 5, 1));
  EXPECT_THAT(sequence.types, ElementsAre(0, 0, 0, 1, 1, 1));
}

TEST(Windows, AWindowWithoutRoomIsRefused) {
  const auto message = test::message_of<std::invalid_argument>(
      [] { tokenize({}, letters(), {.length = 8, .stride = 2, .question_length = 5}, 1); });
  EXPECT_THAT(message, HasSubstr("wanted a length above question_length + 3 special tokens = 8"));
}

TEST(Windows, ATokenIsReadWhereItHasMostContext) {
  const auto paragraphs = one_paragraph("a b c d e f g h i j", {"e f", 8});
  const TokenizedSet set =
      tokenize(paragraphs, letters(), {.length = 10, .stride = 2, .question_length = 5}, 1);
  const std::span<const Window> windows = set.windows;
  // Token 3 is the last of window 0, with nothing to its right, and has one to its left and two to
  // its right in window 1. Token 2 has one on its nearer side in window 0 and none in window 1.
  EXPECT_FALSE(has_most_context(windows, 0, 3));
  EXPECT_TRUE(has_most_context(windows, 1, 3));
  EXPECT_TRUE(has_most_context(windows, 0, 2));
  EXPECT_FALSE(has_most_context(windows, 1, 2));
}

class BestAnswer : public testing::Test {
 protected:
  BestAnswer() {
    for (const Window& window : set_.windows) {
      begin_.emplace_back(window.length, 0.0F);
      end_.emplace_back(window.length, 0.0F);
    }
  }
  std::string answer(const ExtractionOptions& options = {}) const {
    std::vector<WindowScores> scores;
    for (std::size_t i = 0; i < begin_.size(); ++i) {
      scores.push_back({begin_[i], end_[i]});
    }
    return std::string(best_answer(set_.windows, scores, kContext, set_.contexts[0], options));
  }

  static constexpr const char* kContext = "a b c d e f g h i j";
  TokenizedSet set_ = tokenize(one_paragraph(kContext, {"e f", 8}), letters(),
                               {.length = 10, .stride = 2, .question_length = 5}, 1);
  std::vector<std::vector<float>> begin_, end_;  // the context's first token has place 5
};

TEST_F(BestAnswer, IsThePartWithTheLargestSum) {
  begin_[1][6] = 3;  // token 3, d
  end_[1][7] = 2;    // token 4, e
  begin_[2][6] = 4;  // token 5, f
  end_[2][6] = 0.5F;
  EXPECT_EQ(answer(), "d e");
}

TEST_F(BestAnswer, DoesNotEndBeforeItsBegin) {
  begin_[1][7] = 5;  // e
  end_[1][6] = 5;    // d
  end_[1][7] = 1;
  EXPECT_EQ(answer(), "e");
}

TEST_F(BestAnswer, IsNotInTheQuestionOrASpecialToken) {
  for (std::size_t place = 0; place < 5; ++place) {
    begin_[0][place] = 9;
    end_[0][place] = 9;
  }
  begin_[0][9] = 9;  // the last special token
  end_[0][9] = 9;
  begin_[0][6] = 1;
  end_[0][6] = 1;
  EXPECT_EQ(answer(), "b");
}

TEST_F(BestAnswer, HasAtMostSoManyTokens) {
  begin_[0][5] = 4;
  end_[0][7] = 4;
  begin_[0][6] = 3;
  EXPECT_EQ(answer({.answer_length = 3}), "a b c");
  EXPECT_EQ(answer({.answer_length = 2}), "b c");
}

TEST_F(BestAnswer, BeginsWhereItsTokenHasMostContext) {
  begin_[0][8] = 9;  // d, the last token of window 0
  begin_[1][6] = 1;  // d in window 1
  end_[1][6] = 1;
  EXPECT_EQ(answer(), "d");
  begin_[1][7] = 2;  // e
  end_[1][7] = 2;
  EXPECT_EQ(answer(), "e");
}

TEST_F(BestAnswer, OnlyTheBestTokensAreTried) {
  begin_[1][2] = 8;  // of the question
  begin_[1][6] = 7;
  end_[1][6] = 1;
  begin_[2][6] = 1;  // f
  end_[2][6] = 1;
  EXPECT_EQ(answer({.best = 2}), "d");
  EXPECT_EQ(answer({.best = 1}), "f");
}

}  // namespace
}  // namespace sing::lab::squad
