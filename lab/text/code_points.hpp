// Reads and writes UTF-8, and says what kind of character a code point is. The tables are those of
// utf8proc; its version decides which version of Unicode they have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sing::lab::text {

inline constexpr std::int32_t kReplacementCharacter = 0xFFFD;

struct Character {
  std::int32_t code_point;
  std::size_t bytes;  // that it takes in the text
};

// Returns the character that begins at byte `place`. A byte that begins no valid sequence is
// U+FFFD, of one byte.
Character character_at(std::string_view text, std::size_t place);

struct CodePoint {
  std::int32_t value;
  std::uint32_t begin, end;  // its bytes in the text
};

// Returns all characters of a text of less than 2^32 bytes.
std::vector<CodePoint> code_points_of(std::string_view text);

// Returns the text with U+FFFD for every byte that is not part of valid UTF-8.
std::string valid_utf8(std::string_view text);

void append_utf8(std::string& text, std::int32_t code_point);

bool is_nonspacing_mark(std::int32_t code_point);  // category Mn
bool is_punctuation(std::int32_t code_point);      // categories P*
bool is_control(std::int32_t code_point);          // categories Cc, Cf, Cn, Co and Cs
bool is_letter(std::int32_t code_point);           // categories L*
bool is_number(std::int32_t code_point);           // categories N*
bool is_alphanumeric(std::int32_t code_point);     // a letter or number, as Python's str.isalnum()
bool is_white_space(std::int32_t code_point);      // the property White_Space
// Returns whether Python's str.split() splits there: white space and U+001C … U+001F.
bool is_python_space(std::int32_t code_point);

// One code point for one, so that U+0130 gives an i without its dot and a final sigma is σ.
std::int32_t lower_case_of(std::int32_t code_point);
int combining_class(std::int32_t code_point);
// The parts of the full canonical decomposition (NFD), in order.
struct Decomposition {
  std::int32_t parts[4];  // no code point has more
  int count;
};
Decomposition decomposition_of(std::int32_t code_point);

}  // namespace sing::lab::text
