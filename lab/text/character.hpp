// Reads characters of UTF-8 and says of which kind they are, with the tables of utf8proc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sing::lab::text {

struct Character {
  std::int32_t code_point;
  std::size_t bytes;  // that it takes in the text
};

// Returns the character that begins at byte `place`. A byte that begins no valid sequence is
// U+FFFD, of one byte.
Character character_at(std::string_view text, std::size_t place);

// The kinds by which GPT-2 divides text into words.
enum class CharacterKind : std::uint8_t { kLetter, kNumber, kSpace, kOther };
// Letters are the categories L*, numbers N*, and spaces have the property White_Space.
CharacterKind kind_of(std::int32_t code_point);

// Returns the text with U+FFFD for every byte that is not part of valid UTF-8.
std::string valid_utf8(std::string_view text);

}  // namespace sing::lab::text
