// Turns the scores of all windows into answers, and the answers into exact match and F1.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/squad/answer_extraction.hpp"
#include "lab/squad/squad_file.hpp"
#include "lab/squad/windows.hpp"
#include "lab/task/evaluator.hpp"

namespace sing::lab::squad {

class AnswerEvaluator final : public task::Evaluator {
 public:
  // `prediction` of add() is float [B, 2, T]: each token's scores as first and as last token of the
  // answer. Part number `window_part` of the batch has the windows' numbers in `set`, int64 [B].
  // `padding_share` is that of training batches, and is reported with the scores if it is known.
  AnswerEvaluator(const std::vector<Paragraph>& paragraphs, const TokenizedSet& set,
                  const ExtractionOptions& options, std::size_t window_part,
                  std::optional<double> padding_share);

  void add(const at::Tensor& prediction, const task::Batch& batch) override;
  // The accuracy is F1; the other scores are exact match and padding in per cent.
  task::Scores scores(double loss) override;

 private:
  std::string answer_of(std::size_t first_window, std::size_t end_window) const;

  const std::vector<Paragraph>& paragraphs_;
  const TokenizedSet& set_;
  ExtractionOptions options_;
  std::size_t window_part_;
  std::optional<double> padding_share_;
  std::vector<std::vector<float>> begin_, end_;  // per window
};

}  // namespace sing::lab::squad
