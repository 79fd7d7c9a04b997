// Divides and encodes the text.
#include "lab/lm/corpus.hpp"

#include <algorithm>

#include "lab/text/gpt2_vocabulary.hpp"
#include "lab/text/simple_vocabularies.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::lm {
namespace {

constexpr std::string_view kGpt2 = "gpt2:";

std::unique_ptr<text::Vocabulary> make_vocabulary(const std::string& tokenizer,
                                                  std::string_view text) {
  if (tokenizer == "bytes") {
    return text::make_byte_vocabulary();
  }
  if (tokenizer == "characters") {
    return text::make_character_vocabulary(text);
  }
  SING_CHECK(tokenizer.starts_with(kGpt2),
             "[--tokenizer] wanted bytes, characters or gpt2:FOLDER with encoder.json and "
             "vocab.bpe, got '{}'",
             tokenizer);
  return text::make_gpt2_vocabulary(tokenizer.substr(kGpt2.size()));
}

// Moves a place forward to where a UTF-8 character begins.
std::size_t character_begin(std::string_view text, std::size_t place) {
  while (place < text.size() && (static_cast<unsigned char>(text[place]) & 0xC0) == 0x80) {
    ++place;
  }
  return place;
}

}  // namespace

Corpus make_corpus(std::string_view text, const std::string& tokenizer, double held_out,
                   data::EvaluationSet evaluate_on) {
  const auto part = static_cast<std::size_t>(held_out * static_cast<double>(text.size()));
  const std::size_t validation = character_begin(text, text.size() - 2 * part);
  const std::size_t test = character_begin(text, text.size() - part);
  Corpus corpus{.vocabulary = make_vocabulary(tokenizer, text), .training = {}, .evaluation = {}};
  corpus.training = corpus.vocabulary->encode(text.substr(0, validation));
  corpus.evaluation = corpus.vocabulary->encode(evaluate_on == data::EvaluationSet::kTest
                                                    ? text.substr(test)
                                                    : text.substr(validation, test - validation));
  return corpus;
}

EvaluationWindows::EvaluationWindows(const Corpus& corpus, std::int64_t context, std::int64_t most)
    : context_(context),
      all_((std::ssize(corpus.evaluation) - 1) / context),
      count_(most > 0 ? std::min(most, all_) : all_) {
  for (std::int64_t window = 0; window < count_; ++window) {
    const std::int64_t first = first_token(window);
    for (std::int64_t at = first + 1; at <= first + context_; ++at) {
      bytes_ +=
          std::ssize(corpus.vocabulary->bytes_of(corpus.evaluation[static_cast<std::size_t>(at)]));
    }
  }
}

std::int64_t EvaluationWindows::first_token(std::int64_t window) const {
  return window * all_ / count_ * context_;
}

}  // namespace sing::lab::lm
