// Turns a text into the tokens that a language model trains on and is evaluated on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lab/data/split.hpp"
#include "lab/text/vocabulary.hpp"

namespace sing::lab::lm {

struct Corpus {
  std::unique_ptr<text::Vocabulary> vocabulary;
  std::vector<text::Token> training;
  std::vector<text::Token> evaluation;
};

// Divides the text into a part to train on, one for validation and one for tests, the last two of a
// share `held_out` each, so that the same bytes are tested whatever the tokenizer. `tokenizer` is
// bytes, characters or gpt2:FOLDER. Throws FileError and std::invalid_argument.
Corpus make_corpus(std::string_view text, const std::string& tokenizer, double held_out,
                   data::EvaluationSet evaluate_on);

// The windows of an evaluation: window n predicts `context` tokens, each from those before it in
// the window. The last tokens that do not fill a window are left out.
class EvaluationWindows {
 public:
  // `most` windows at equal distances; 0: all.
  EvaluationWindows(const Corpus& corpus, std::int64_t context, std::int64_t most);

  std::int64_t count() const { return count_; }
  // Returns the first token of a window, which has context + 1 tokens.
  std::int64_t first_token(std::int64_t window) const;
  // Number of bytes of the tokens that all windows predict.
  std::int64_t bytes() const { return bytes_; }
  std::int64_t predicted_tokens() const { return count_ * context_; }

 private:
  std::int64_t context_;
  std::int64_t all_;
  std::int64_t count_;
  std::int64_t bytes_ = 0;
};

}  // namespace sing::lab::lm
