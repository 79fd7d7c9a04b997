// Collects scores on the host and extracts the answers at the end.
#include "lab/squad/answer_evaluator.hpp"

#include <torch/torch.h>

#include "lab/squad/answer_score.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::squad {
namespace {

constexpr std::size_t kSampleQuestions = 8;
constexpr double kPerCent = 100;

}  // namespace

AnswerEvaluator::AnswerEvaluator(const std::vector<Paragraph>& paragraphs, const TokenizedSet& set,
                                 const ExtractionOptions& options, std::size_t window_part,
                                 std::optional<double> padding_share)
    : paragraphs_(paragraphs),
      set_(set),
      options_(options),
      window_part_(window_part),
      padding_share_(padding_share),
      begin_(set.windows.size()),
      end_(set.windows.size()) {}

void AnswerEvaluator::add(const at::Tensor& prediction, const task::Batch& batch) {
  const at::Tensor scores = prediction.to(at::kCPU, at::kFloat).contiguous();
  const at::Tensor windows = batch[window_part_].to(at::kCPU).contiguous();
  const std::int64_t tokens = scores.size(2);
  const auto* row = scores.const_data_ptr<float>();
  for (std::int64_t i = 0; i < scores.size(0); ++i, row += 2 * tokens) {
    const auto window = static_cast<std::size_t>(windows.const_data_ptr<std::int64_t>()[i]);
    const std::int64_t length = set_.windows[window].length;
    begin_[window].assign(row, row + length);
    end_[window].assign(row + tokens, row + tokens + length);
  }
}

std::string AnswerEvaluator::answer_of(std::size_t first_window, std::size_t end_window) const {
  const std::span<const Window> windows =
      std::span(set_.windows).subspan(first_window, end_window - first_window);
  std::vector<WindowScores> scores;
  for (std::size_t i = first_window; i < end_window; ++i) {
    scores.push_back({begin_[i], end_[i]});
  }
  const std::size_t paragraph = windows.front().paragraph;
  return std::string(best_answer(windows, scores, paragraphs_[paragraph].context,
                                 set_.contexts[paragraph], options_));
}

task::Scores AnswerEvaluator::scores(double /*loss*/) {
  double exact_match = 0;
  double f1 = 0;
  task::Scores scores;
  const std::size_t questions = set_.questions.size();
  const std::size_t shown_step = std::max<std::size_t>(1, questions / kSampleQuestions);
  std::size_t window = 0;
  std::size_t number = 0;
  for (const Paragraph& paragraph : paragraphs_) {
    for (const Question& question : paragraph.questions) {
      const std::size_t first = window;
      while (window < set_.windows.size() && set_.windows[window].question == number) {
        ++window;
      }
      const std::string answer = answer_of(first, window);
      std::vector<std::string_view> right;
      for (const Answer& each : question.answers) {
        right.emplace_back(each.text);
      }
      const AnswerScore score = score_answer(answer, right);
      exact_match += score.exact_match;
      f1 += score.f1;
      if (number % shown_step == 0 && number / shown_step < kSampleQuestions) {
        scores.sample += fmt::format("{}\n  {} {}\n  right: {}\n", question.text,
                                     score.exact_match > 0 ? "✓" : "✗", answer, right.front());
      }
      ++number;
    }
  }
  const auto total = static_cast<double>(questions);
  scores.accuracy = f1 / total;
  scores.others = {{"exact match, %", kPerCent * exact_match / total}};
  if (padding_share_) {
    scores.others.emplace_back("padding in training batches, %", kPerCent * *padding_share_);
  }
  return scores;
}

}  // namespace sing::lab::squad
