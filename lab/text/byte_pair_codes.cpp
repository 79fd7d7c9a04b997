// Merges pairs of pieces in the order in which the codes were learned.
#include "lab/text/byte_pair_codes.hpp"

#include <limits>

#include "lab/text/lines.hpp"
#include "lab/text/words.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::text {
namespace {

constexpr std::string_view kEndOfWord = "</w>";
constexpr std::size_t kNoRank = std::numeric_limits<std::size_t>::max();

std::vector<std::string> split_at_spaces(std::string_view line) {
  std::vector<std::string> parts;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    if (end > 0) {
      parts.emplace_back(line.substr(0, end));
    }
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return parts;
}

}  // namespace

BytePairCodes::BytePairCodes(const std::filesystem::path& path) {
  const std::vector<std::string> lines = read_lines(path);
  std::size_t first = 0;
  if (!lines.empty() && lines[0].starts_with("#version:")) {
    const std::string version(split_words(lines[0]).back());
    ends_in_last_character_ = version == "0.2";
    SING_CHECK(version == "0.1" || version == "0.2",
               "[codes] wanted version 0.1 or 0.2 in line 1 of '{}', got '{}'", path.string(),
               version);
    first = 1;
  }
  for (std::size_t line = first; line < lines.size(); ++line) {
    std::vector<std::string> pair = split_at_spaces(lines[line]);
    SING_CHECK(pair.size() == 2,
               "[codes] wanted two pieces separated by a space in line {} of '{}', got '{}'",
               line + 1, path.string(), lines[line]);
    ranks_.try_emplace({std::move(pair[0]), std::move(pair[1])}, line);
  }
  SING_CHECK(!ranks_.empty(), "[codes] wanted merges in '{}', got none", path.string());
}

// One round merges every occurrence of the pair that was learned first, from left to right.
std::vector<std::string> BytePairCodes::pieces_of(std::string_view word) const {
  const std::vector<std::string_view> characters = characters_of(word);
  std::vector<std::string> pieces(characters.begin(), characters.end());
  if (pieces.size() == 1) {
    return pieces;
  }
  if (ends_in_last_character_) {
    pieces.back() += kEndOfWord;
  } else {
    pieces.emplace_back(kEndOfWord);
  }
  while (pieces.size() > 1) {
    std::vector<std::size_t> ranks;
    std::size_t best = kNoRank;
    for (std::size_t place = 0; place + 1 < pieces.size(); ++place) {
      const auto found = ranks_.find({pieces[place], pieces[place + 1]});
      ranks.push_back(found == ranks_.end() ? kNoRank : found->second);
      best = std::min(best, ranks.back());
    }
    if (best == kNoRank) {
      break;
    }
    std::vector<std::string> merged;
    for (std::size_t place = 0; place < pieces.size(); ++place) {
      merged.push_back(std::move(pieces[place]));
      if (place < ranks.size() && ranks[place] == best) {
        merged.back() += pieces[++place];
      }
    }
    pieces = std::move(merged);
  }
  if (pieces.back() == kEndOfWord) {
    pieces.pop_back();
  } else if (pieces.back().ends_with(kEndOfWord)) {
    pieces.back().resize(pieces.back().size() - kEndOfWord.size());
  }
  return pieces;
}

std::vector<std::string> BytePairCodes::segment(std::string_view line) const {
  std::vector<std::string> segmented;
  for (const std::string& word : split_at_spaces(line)) {
    std::vector<std::string> pieces = pieces_of(word);
    for (std::size_t place = 0; place + 1 < pieces.size(); ++place) {
      pieces[place] += kContinuation;
    }
    std::move(pieces.begin(), pieces.end(), std::back_inserter(segmented));
  }
  return segmented;
}

// Does what fairseq's --remove-bpe does: every "@@ " disappears, also at the end of the line.
std::string join_pieces(std::string_view segmented) {
  std::string line(segmented);
  line += ' ';
  const std::string mark = std::string(kContinuation) + " ";
  for (std::size_t place = 0; (place = line.find(mark, place)) != std::string::npos;) {
    line.erase(place, mark.size());
  }
  line.resize(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace sing::lab::text
