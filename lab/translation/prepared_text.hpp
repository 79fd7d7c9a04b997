// Defines the folder that `sing data text` writes and `sing train translation` reads: pairs of
// sentences as numbers of pieces, with the tokenizers that made them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lab/text/tokenizer.hpp"

namespace sing::lab::translation {

using text::Piece;
using text::Tokenizer;

// Sentences one after the other, each with kEnd as its last piece.
class EncodedSentences {
 public:
  void add(std::span<const Piece> pieces);  // add() appends kEnd itself

  std::int64_t count() const { return static_cast<std::int64_t>(ends_.size()); }
  std::span<const Piece> sentence(std::int64_t number) const;
  std::int64_t length(std::int64_t number) const {
    return static_cast<std::int64_t>(sentence(number).size());
  }

  const std::vector<Piece>& pieces() const { return pieces_; }
  const std::vector<std::int64_t>& ends() const { return ends_; }

 private:
  std::vector<Piece> pieces_;
  std::vector<std::int64_t> ends_;  // where each sentence ends in pieces_
};

struct EncodedPairs {
  EncodedSentences source, target;
  std::vector<std::string> references;  // target text; empty for the training part

  std::int64_t count() const { return source.count(); }
};

// The files of tokenizers by name, with their contents.
struct TokenizerFile {
  std::string name;
  std::string content;
};

struct PreparedText {
  EncodedPairs training, validation, test;
  std::shared_ptr<const Tokenizer> source_tokenizer, target_tokenizer;
  bool one_vocabulary = false;  // both tokenizers are the same
  std::string digest;           // SHA-256 of the folder's index, which has those of its files
};

// Files in the folder.
inline constexpr const char* kIndexFile = "index.json";
inline constexpr const char* kPairsFile = "pairs.safetensors";
inline constexpr const char* kSentencePieceFile = "sentencepiece.model";
inline constexpr const char* kCodesFile = "codes.txt";
inline constexpr const char* kSourceDictionaryFile = "dict.source.txt";
inline constexpr const char* kTargetDictionaryFile = "dict.target.txt";

// Makes the tokenizers of a folder from the files that it has: a sentencepiece model for both
// languages, or a dictionary for each and codes where there are any.
void load_tokenizers(const std::filesystem::path& folder, PreparedText& prepared);

// `notes` are lines of the index for people. The index is written last, and the folder is made if
// it does not exist. Returns the digest.
std::string write_prepared_text(const std::filesystem::path& folder, const PreparedText& prepared,
                                const std::vector<TokenizerFile>& files,
                                const std::vector<std::string>& notes);

// Throws std::invalid_argument if `folder` is no such folder and FileError for a file that is
// missing or differs from the index.
PreparedText read_prepared_text(const std::filesystem::path& folder);

}  // namespace sing::lab::translation
