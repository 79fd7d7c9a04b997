// Defines WordPiece, the tokenizer of BERT: the longest pieces of a vocabulary that make up each
// word.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sing::lab::text {

struct PlacedToken {
  std::int32_t id;
  std::uint32_t begin, end;  // the bytes of the text that it stands for

  bool operator==(const PlacedToken&) const = default;
};

// Equals Hugging Face's BertTokenizer, up to the version of Unicode (basic_tokenizer.hpp).
class WordPiece {
 public:
  // A token's number is its place. Throws std::invalid_argument for a vocabulary that has a token
  // twice or not the token `unknown`, which stands for words that it cannot make up.
  WordPiece(const std::vector<std::string>& vocabulary, bool lower_case,
            std::string_view unknown = "[UNK]");

  std::vector<PlacedToken> tokens(std::string_view text) const;

  // Throws std::invalid_argument if the vocabulary has no such token.
  std::int32_t id_of(std::string_view token) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> ids_;
  std::int32_t unknown_;
  bool lower_case_;
};

// Reads a vocab.txt, a token per line. Throws FileError.
std::vector<std::string> read_vocabulary(const std::filesystem::path& path);

}  // namespace sing::lab::text
