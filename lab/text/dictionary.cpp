// Reads and makes fairseq's dictionaries.
#include "lab/text/dictionary.hpp"

#include <algorithm>

#include "lab/text/lines.hpp"
#include "sing/base/fields.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::text {

Dictionary::Dictionary() {
  for (const char* special : {"<s>", "<pad>", "</s>", "<unk>"}) {
    add(special, 1);
  }
}

void Dictionary::add(std::string_view piece, std::int64_t count) {
  numbers_[std::string(piece)] = static_cast<Piece>(pieces_.size());
  pieces_.emplace_back(piece);
  counts_.push_back(count);
}

Dictionary::Dictionary(const std::filesystem::path& path) : Dictionary() {
  constexpr std::string_view kOverwrite = " #fairseq:overwrite";
  const std::vector<std::string> lines = read_lines(path);
  for (std::size_t line = 0; line < lines.size(); ++line) {
    std::string_view rest = lines[line];
    const bool overwrite = rest.ends_with(kOverwrite);
    if (overwrite) {
      rest.remove_suffix(kOverwrite.size());
    }
    const std::size_t space = rest.rfind(' ');
    const auto count = space == std::string_view::npos
                           ? std::nullopt
                           : parse_number<std::int64_t>(rest.substr(space + 1));
    SING_CHECK(count && space > 0,
               "[dictionary] wanted a piece and its count in line {} of '{}', got '{}'", line + 1,
               path.string(), lines[line]);
    const std::string_view piece = rest.substr(0, space);
    SING_CHECK(overwrite || !numbers_.contains(std::string(piece)),
               "[dictionary] wanted each piece once, got '{}' again in line {} of '{}'", piece,
               line + 1, path.string());
    add(piece, *count);
  }
  SING_CHECK(!lines.empty(), "[dictionary] wanted pieces in '{}', got none", path.string());
}

Dictionary::Dictionary(const std::map<std::string, std::int64_t>& counts, std::int64_t least)
    : Dictionary() {
  std::vector<std::pair<std::string, std::int64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& one, const auto& other) { return one.second > other.second; });
  for (const auto& [piece, count] : sorted) {
    if (count >= least && !numbers_.contains(piece)) {
      add(piece, count);
    }
  }
}

Piece Dictionary::number_of(std::string_view piece) const {
  const auto found = numbers_.find(std::string(piece));
  return found == numbers_.end() ? static_cast<Piece>(kUnknown) : found->second;
}

std::string Dictionary::text() const {
  std::string lines;
  for (std::size_t number = kSpecialPieces; number < pieces_.size(); ++number) {
    lines += fmt::format("{} {}\n", pieces_[number], counts_[number]);
  }
  return lines;
}

}  // namespace sing::lab::text
