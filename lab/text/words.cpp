// Splits text.
#include "lab/text/words.hpp"

#include "lab/text/code_points.hpp"

namespace sing::lab::text {

bool is_utf8(std::string_view text) { return valid_utf8(text) == text; }

std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> characters;
  for (std::size_t place = 0; place < text.size(); place += characters.back().size()) {
    characters.push_back(text.substr(place, character_at(text, place).bytes));
  }
  return characters;
}

std::size_t white_space_at(std::string_view text) {
  if (text.empty()) {
    return 0;
  }
  const Character first = character_at(text, 0);
  return is_python_space(first.code_point) ? first.bytes : 0;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  const auto add = [&](std::size_t end) {
    if (end > begin) {
      words.push_back(text.substr(begin, end - begin));
    }
  };
  for (std::size_t place = 0; place < text.size();) {
    const Character character = character_at(text, place);
    if (is_python_space(character.code_point)) {
      add(place);
      begin = place + character.bytes;
    }
    place += character.bytes;
  }
  add(text.size());
  return words;
}

std::string join_words(const std::vector<std::string_view>& words) {
  std::string line;
  for (const std::string_view word : words) {
    line += line.empty() ? "" : " ";
    line += word;
  }
  return line;
}

}  // namespace sing::lab::text
