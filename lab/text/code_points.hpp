// Reads and writes UTF-8, and says what kind of character a code point is. The tables are those of
// utf8proc; its version decides which version of Unicode they have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sing::lab::text {

inline constexpr std::int32_t kReplacementCharacter = 0xFFFD;

struct CodePoint {
  std::int32_t value;
  std::uint32_t begin, end;  // its bytes in the text
};

// A byte that belongs to no valid sequence becomes one U+FFFD. A text has less than 2^32 bytes.
std::vector<CodePoint> code_points_of(std::string_view text);

void append_utf8(std::string& text, std::int32_t code_point);

bool is_nonspacing_mark(std::int32_t code_point);  // category Mn
bool is_punctuation(std::int32_t code_point);      // categories P*
bool is_control(std::int32_t code_point);          // categories Cc, Cf, Cn, Co and Cs
bool is_alphanumeric(std::int32_t code_point);  // categories L* and N*, as Python's str.isalnum()
bool is_white_space(std::int32_t code_point);   // the property White_Space
// What Python's str.split() splits at: also U+001C … U+001F.
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
