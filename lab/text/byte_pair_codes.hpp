// Applies the merges of a codes file of subword-nmt (Sennrich et al. 2016) to words.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sing::lab::text {

// A piece that does not end its word is followed by this.
inline constexpr std::string_view kContinuation = "@@";

class BytePairCodes {
 public:
  // Reads a file of versions 0.1 and 0.2. Throws FileError or std::invalid_argument, which name the
  // file and the line.
  explicit BytePairCodes(const std::filesystem::path& path);

  // Returns the pieces of a line whose words are separated by spaces, in order; all but the last of
  // each word end in kContinuation.
  std::vector<std::string> segment(std::string_view line) const;

 private:
  struct PairHash {
    std::size_t operator()(const std::pair<std::string, std::string>& pair) const {
      return std::hash<std::string>{}(pair.first) * 31 + std::hash<std::string>{}(pair.second);
    }
  };

  std::vector<std::string> pieces_of(std::string_view word) const;

  bool ends_in_last_character_ =
      false;  // version 0.2: the end of a word is a part of its character
  std::unordered_map<std::pair<std::string, std::string>, std::size_t, PairHash> ranks_;
};

// Returns the line in which the pieces of each word are put together again.
std::string join_pieces(std::string_view segmented);

}  // namespace sing::lab::text
