// Matches GPT-2's regular expression by hand, one alternative after the other.
#include "lab/text/gpt2_words.hpp"

#include "lab/text/code_points.hpp"

namespace sing::lab::text {
namespace {

constexpr std::string_view kContractions[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};

// The kinds by which GPT-2 divides text into words.
enum class CharacterKind : std::uint8_t { kLetter, kNumber, kSpace, kOther };

CharacterKind kind_of(std::int32_t code_point) {
  if (is_letter(code_point)) {
    return CharacterKind::kLetter;
  }
  if (is_number(code_point)) {
    return CharacterKind::kNumber;
  }
  return is_white_space(code_point) ? CharacterKind::kSpace : CharacterKind::kOther;
}

struct Place {
  CharacterKind kind;
  std::size_t bytes;
};

Place place_at(std::string_view text, std::size_t at) {
  const Character character = character_at(text, at);
  return {kind_of(character.code_point), character.bytes};
}

// Returns the end of the run of characters of one kind that begins at `begin`.
std::size_t end_of_run(std::string_view text, std::size_t begin, CharacterKind kind) {
  std::size_t end = begin;
  while (end < text.size()) {
    const Place next = place_at(text, end);
    if (next.kind != kind) {
      break;
    }
    end += next.bytes;
  }
  return end;
}

std::size_t contraction_at(std::string_view text, std::size_t begin) {
  for (const std::string_view contraction : kContractions) {
    if (text.substr(begin).starts_with(contraction)) {
      return contraction.size();
    }
  }
  return 0;
}

// A run of spaces before a word leaves its last character to the word, which takes it if it is
// U+0020; else that character is a match of its own. At the end of the text nothing is left.
std::size_t end_of_spaces(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  std::size_t last = begin;
  while (end < text.size()) {
    const Place next = place_at(text, end);
    if (next.kind != CharacterKind::kSpace) {
      return last > begin ? last : end;
    }
    last = end;
    end += next.bytes;
  }
  return end;
}

std::size_t end_of_word(std::string_view text, std::size_t begin) {
  if (const std::size_t bytes = contraction_at(text, begin); bytes > 0) {
    return begin + bytes;
  }
  const std::size_t first = text[begin] == ' ' ? begin + 1 : begin;
  if (first < text.size()) {
    const CharacterKind kind = place_at(text, first).kind;
    if (kind != CharacterKind::kSpace) {
      return end_of_run(text, first, kind);
    }
  }
  return end_of_spaces(text, begin);
}

}  // namespace

std::vector<std::string_view> gpt2_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = end_of_word(text, begin);
    words.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

}  // namespace sing::lab::text
