// Tokenizes with a dictionary.
#include "lab/text/dictionary_tokenizer.hpp"

#include <utility>

#include "lab/text/words.hpp"

namespace sing::lab::text {
namespace {

class DictionaryTokenizer final : public Tokenizer {
 public:
  DictionaryTokenizer(std::shared_ptr<const BytePairCodes> codes, Dictionary dictionary)
      : codes_(std::move(codes)), dictionary_(std::move(dictionary)) {}

  std::int64_t size() const override { return dictionary_.size(); }

  std::vector<Piece> encode(std::string_view line) const override {
    std::vector<Piece> numbers;
    if (codes_ != nullptr) {
      for (const std::string& piece : codes_->segment(line)) {
        numbers.push_back(dictionary_.number_of(piece));
      }
      return numbers;
    }
    for (const std::string_view piece : split_words(line)) {
      numbers.push_back(dictionary_.number_of(piece));
    }
    return numbers;
  }

  std::string decode(std::span<const Piece> pieces) const override {
    std::vector<std::string_view> words;
    for (const Piece piece : pieces) {
      if (piece != kBegin && piece != kPadding && piece != kEnd) {
        words.push_back(dictionary_.piece(piece));
      }
    }
    return join_pieces(join_words(words));
  }

 private:
  std::shared_ptr<const BytePairCodes> codes_;
  Dictionary dictionary_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_dictionary_tokenizer(std::shared_ptr<const BytePairCodes> codes,
                                                     Dictionary dictionary) {
  return std::make_unique<DictionaryTokenizer>(std::move(codes), std::move(dictionary));
}

}  // namespace sing::lab::text
