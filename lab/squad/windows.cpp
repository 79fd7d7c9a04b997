// Tokenizes a set and cuts it into windows.
#include "lab/squad/windows.hpp"

#include <algorithm>

#include "lab/data/parallel_chunks.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::squad {
namespace {

constexpr std::size_t kChunk = 16;  // paragraphs that a thread takes at a time

// The first and the last token that share a byte with the answer; empty if none does.
struct TokenRange {
  std::int64_t begin = 0, end = 0;
};
TokenRange tokens_of_answer(const std::vector<text::PlacedToken>& context, const Answer& answer) {
  const auto ends_after = [](const text::PlacedToken& token, std::size_t byte) {
    return token.end <= byte;
  };
  const auto begin = std::lower_bound(context.begin(), context.end(), answer.begin, ends_after);
  auto end = begin;
  while (end != context.end() && end->begin < answer.begin + answer.text.size()) {
    ++end;
  }
  return {begin - context.begin(), end - context.begin()};
}

void add_windows(std::vector<Window>& windows, const Window& common, std::int64_t context_length,
                 std::int64_t room, std::int64_t specials_after, const TokenRange& answer,
                 std::int64_t stride) {
  // A window that is shorter than the stride is followed by the next token, as in run_squad.py.
  for (std::int64_t first = 0;; first += std::min(room, stride)) {
    Window window = common;
    window.first = first;
    window.count = std::min(room, context_length - first);
    window.length = window.context_begin + window.count + specials_after;
    if (answer.begin < answer.end && answer.begin >= first && answer.end <= first + window.count) {
      window.answer_begin = window.context_begin + answer.begin - first;
      window.answer_end = window.context_begin + answer.end - 1 - first;
    }
    windows.push_back(window);
    if (first + window.count >= context_length) {
      return;
    }
  }
}

}  // namespace

TokenizedSet tokenize(const std::vector<Paragraph>& paragraphs, const encoder::TextPairs& pairs,
                      const WindowShape& shape, int threads) {
  const std::int64_t specials = pairs.special_count();
  SING_CHECK(shape.length > shape.question_length + specials,
             "[squad] wanted a length above question_length + {} special tokens = {}, got {}",
             specials, shape.question_length + specials, shape.length);
  std::vector<std::size_t> first_question(paragraphs.size() + 1, 0);
  for (std::size_t i = 0; i < paragraphs.size(); ++i) {
    first_question[i + 1] = first_question[i] + paragraphs[i].questions.size();
  }
  TokenizedSet set;
  set.contexts.resize(paragraphs.size());
  set.questions.resize(first_question.back());
  std::vector<std::vector<Window>> windows(paragraphs.size());
  data::for_each_chunk(
      threads, paragraphs.size(), kChunk, [&](std::size_t begin, std::size_t end, int) {
        for (std::size_t i = begin; i < end; ++i) {
          set.contexts[i] = pairs.tokens(paragraphs[i].context);
          const auto context_length = static_cast<std::int64_t>(set.contexts[i].size());
          for (std::size_t q = 0; q < paragraphs[i].questions.size(); ++q) {
            const Question& question = paragraphs[i].questions[q];
            std::vector<text::PlacedToken>& asked = set.questions[first_question[i] + q];
            asked = pairs.tokens(question.text);
            asked.resize(std::min(asked.size(), static_cast<std::size_t>(shape.question_length)));
            const auto asked_length = static_cast<std::int64_t>(asked.size());
            const Window common{.question = first_question[i] + q,
                                .paragraph = i,
                                .first = 0,
                                .count = 0,
                                .context_begin = asked_length + specials - 1,
                                .length = 0,
                                .answer_begin = 0,
                                .answer_end = 0};
            add_windows(windows[i], common, context_length, shape.length - asked_length - specials,
                        /*specials_after=*/1,
                        tokens_of_answer(set.contexts[i], question.answers.front()), shape.stride);
          }
        }
      });
  for (std::vector<Window>& each : windows) {
    set.windows.insert(set.windows.end(), each.begin(), each.end());
  }
  return set;
}

bool has_most_context(std::span<const Window> windows, std::size_t window, std::int64_t token) {
  // The length decides between windows that have the same number of tokens on the nearer side.
  constexpr double kLengthWeight = 0.01;
  double best = -1;
  std::size_t place = windows.size();
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const std::int64_t left = token - windows[i].first;
    const std::int64_t right = windows[i].first + windows[i].count - 1 - token;
    if (left < 0 || right < 0) {
      continue;
    }
    const double score = static_cast<double>(std::min(left, right)) +
                         kLengthWeight * static_cast<double>(windows[i].count);
    if (score > best) {
      best = score;
      place = i;
    }
  }
  return place == window;
}

}  // namespace sing::lab::squad
