// Maps pieces to numbers with fairseq's dictionaries (dict.xx.txt: a piece and its count per line).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lab/text/tokenizer.hpp"

namespace sing::lab::text {

class Dictionary {
 public:
  // Reads a dictionary. Throws FileError or std::invalid_argument, which name the file and the
  // line.
  explicit Dictionary(const std::filesystem::path& path);
  // Makes a dictionary of the pieces that occur at least `least` times, the most frequent first and
  // equally frequent ones in the order of their bytes, as fairseq-preprocess does.
  Dictionary(const std::map<std::string, std::int64_t>& counts, std::int64_t least);

  std::int64_t size() const { return static_cast<std::int64_t>(pieces_.size()); }
  Piece number_of(std::string_view piece) const;  // kUnknown for a piece that it does not have
  const std::string& piece(Piece number) const {
    return pieces_.at(static_cast<std::size_t>(number));
  }

  // The content of the file that the other constructor reads.
  std::string text() const;

 private:
  Dictionary();
  void add(std::string_view piece, std::int64_t count);

  std::vector<std::string> pieces_;
  std::vector<std::int64_t> counts_;
  std::unordered_map<std::string, Piece> numbers_;
};

}  // namespace sing::lab::text
