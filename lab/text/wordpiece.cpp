// Finds the longest pieces from the left, as BERT does.
#include "lab/text/wordpiece.hpp"

#include "lab/data/open_file.hpp"
#include "lab/text/basic_tokenizer.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::text {
namespace {

constexpr std::size_t kMostCharacters = 100;  // a longer word is unknown
constexpr std::string_view kInside = "##";    // begins a piece that does not begin a word

}  // namespace

WordPiece::WordPiece(const std::vector<std::string>& vocabulary, bool lower_case,
                     std::string_view unknown)
    : lower_case_(lower_case) {
  ids_.reserve(vocabulary.size());
  for (const std::string& token : vocabulary) {
    const bool is_new = ids_.emplace(token, static_cast<std::int32_t>(ids_.size())).second;
    SING_CHECK(is_new, "[wordpiece] wanted each token once in the vocabulary, got '{}' twice",
               token);
  }
  unknown_ = id_of(unknown);
}

std::int32_t WordPiece::id_of(std::string_view token) const {
  const auto found = ids_.find(token);
  SING_CHECK(found != ids_.end(), "[wordpiece] wanted a vocabulary with '{}', got {} others", token,
             ids_.size());
  return found->second;
}

std::vector<PlacedToken> WordPiece::tokens(std::string_view text) const {
  std::vector<PlacedToken> tokens;
  std::string spelling;  // "##" and the word
  std::vector<std::size_t> places;
  for (const BasicWord& word : basic_words(text, lower_case_)) {
    const PlacedToken whole_unknown = {unknown_, word.front().begin, word.back().end};
    if (word.size() > kMostCharacters) {
      tokens.push_back(whole_unknown);
      continue;
    }
    spelling = kInside;
    places.clear();  // where each character begins in the spelling, and its end
    for (const CodePoint& each : word) {
      places.push_back(spelling.size());
      append_utf8(spelling, each.value);
    }
    places.push_back(spelling.size());
    const std::size_t before = tokens.size();
    for (std::size_t begin = 0; begin < word.size();) {
      std::size_t end = word.size();
      auto found = ids_.end();
      for (; end > begin; --end) {
        // A piece that does not begin the word is looked up with "##" before it. The characters to
        // its left are not needed any more, so that the mark can overwrite them.
        const std::size_t first = begin == 0 ? places[0] : places[begin] - kInside.size();
        found = ids_.find(std::string_view(spelling).substr(first, places[end] - first));
        if (found != ids_.end()) {
          break;
        }
      }
      if (found == ids_.end()) {
        tokens.resize(before);
        tokens.push_back(whole_unknown);
        break;
      }
      tokens.push_back({found->second, word[begin].begin, word[end - 1].end});
      begin = end;
      spelling.replace(places[begin] - kInside.size(), kInside.size(), kInside);
    }
  }
  return tokens;
}

std::vector<std::string> read_vocabulary(const std::filesystem::path& path) {
  std::ifstream file = data::open_file(path);
  if (!file) {
    throw FileError(
        fmt::format("[wordpiece] wanted a vocabulary, got no readable '{}'", path.string()));
  }
  std::vector<std::string> tokens;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) {
      line.pop_back();
    }
    tokens.push_back(std::move(line));
  }
  return tokens;
}

}  // namespace sing::lab::text
