// Calls the library sentencepiece.
#include "lab/text/sentence_pieces.hpp"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include "sing/base/message.hpp"

namespace sing::lab::text {
namespace {

class LineIterator final : public sentencepiece::SentenceIterator {
 public:
  explicit LineIterator(const std::vector<std::string>& lines) : lines_(lines) {}
  bool done() const override { return next_ == lines_.size(); }
  void Next() override { ++next_; }
  const std::string& value() const override { return lines_[next_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& lines_;
  std::size_t next_ = 0;
};

class SentencePieceTokenizer final : public Tokenizer {
 public:
  explicit SentencePieceTokenizer(std::string_view model) {
    const auto status = processor_.LoadFromSerializedProto({model.data(), model.size()});
    SING_CHECK(status.ok(), "[sentencepiece] wanted a model, got an error: {}", status.ToString());
    SING_CHECK(processor_.bos_id() == kBegin && processor_.pad_id() == kPadding &&
                   processor_.eos_id() == kEnd && processor_.unk_id() == kUnknown,
               "[sentencepiece] wanted a model with <s> {}, <pad> {}, </s> {}, <unk> {}, got {}, "
               "{}, {}, {}",
               static_cast<int>(kBegin), static_cast<int>(kPadding), static_cast<int>(kEnd),
               static_cast<int>(kUnknown), processor_.bos_id(), processor_.pad_id(),
               processor_.eos_id(), processor_.unk_id());
  }

  std::int64_t size() const override { return processor_.GetPieceSize(); }

  std::vector<Piece> encode(std::string_view line) const override {
    std::vector<int> pieces;
    const auto status = processor_.Encode({line.data(), line.size()}, &pieces);
    SING_CHECK(status.ok(), "[sentencepiece] wanted a line of text, got an error: {}",
               status.ToString());
    return {pieces.begin(), pieces.end()};
  }

  std::string decode(std::span<const Piece> pieces) const override {
    std::vector<int> shown;
    for (const Piece piece : pieces) {
      if (piece != kBegin && piece != kPadding && piece != kEnd) {
        shown.push_back(piece);
      }
    }
    std::string line;
    const auto status = processor_.Decode(shown, &line);
    SING_CHECK(status.ok(), "[sentencepiece] wanted numbers of pieces, got an error: {}",
               status.ToString());
    return line;
  }

 private:
  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

// The number of threads is part of the result, because each thread adds up its own counts.
std::string train_sentence_pieces(const std::vector<std::string>& lines, std::int64_t size) {
  LineIterator iterator(lines);
  std::string model;
  const auto status =
      sentencepiece::SentencePieceTrainer::Train({{"model_type", "bpe"},
                                                  {"vocab_size", std::to_string(size)},
                                                  {"character_coverage", "1.0"},
                                                  {"normalization_rule_name", "identity"},
                                                  {"num_threads", "1"},
                                                  {"input_sentence_size", "0"},
                                                  {"max_sentence_length", "65536"},
                                                  {"bos_id", std::to_string(kBegin)},
                                                  {"pad_id", std::to_string(kPadding)},
                                                  {"eos_id", std::to_string(kEnd)},
                                                  {"unk_id", std::to_string(kUnknown)},
                                                  {"unk_surface", " <unk> "},
                                                  {"minloglevel", "2"}},
                                                 &iterator, &model);
  SING_CHECK(status.ok(), "[sentencepiece] wanted text for {} pieces, got an error: {}", size,
             status.ToString());
  return model;
}

std::unique_ptr<Tokenizer> make_sentence_piece_tokenizer(std::string_view model) {
  return std::make_unique<SentencePieceTokenizer>(model);
}

}  // namespace sing::lab::text
