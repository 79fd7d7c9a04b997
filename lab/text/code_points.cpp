// Wraps the functions of utf8proc.
#include "lab/text/code_points.hpp"

#include <utf8proc.h>

#include <cstddef>

#include "sing/base/message.hpp"

namespace sing::lab::text {
namespace {

utf8proc_category_t category(std::int32_t code_point) { return utf8proc_category(code_point); }

}  // namespace

Character character_at(std::string_view text, std::size_t place) {
  const auto* const begin = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + place;
  std::int32_t code_point = kReplacementCharacter;
  const utf8proc_ssize_t bytes =
      utf8proc_iterate(begin, static_cast<utf8proc_ssize_t>(text.size() - place), &code_point);
  return bytes > 0 ? Character{code_point, static_cast<std::size_t>(bytes)}
                   : Character{kReplacementCharacter, 1};
}

std::vector<CodePoint> code_points_of(std::string_view text) {
  std::vector<CodePoint> list;
  list.reserve(text.size());
  for (std::size_t place = 0; place < text.size();) {
    const Character character = character_at(text, place);
    const std::size_t next = place + character.bytes;
    list.push_back({character.code_point, static_cast<std::uint32_t>(place),
                    static_cast<std::uint32_t>(next)});
    place = next;
  }
  return list;
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  for (std::size_t place = 0; place < text.size();) {
    const Character character = character_at(text, place);
    append_utf8(valid, character.code_point);
    place += character.bytes;
  }
  return valid;
}

void append_utf8(std::string& text, std::int32_t code_point) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t length = utf8proc_encode_char(code_point, bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(length));
}

bool is_nonspacing_mark(std::int32_t code_point) {
  return category(code_point) == UTF8PROC_CATEGORY_MN;
}

bool is_punctuation(std::int32_t code_point) {
  const utf8proc_category_t found = category(code_point);
  return found >= UTF8PROC_CATEGORY_PC && found <= UTF8PROC_CATEGORY_PO;
}

bool is_control(std::int32_t code_point) {
  const utf8proc_category_t found = category(code_point);
  return found == UTF8PROC_CATEGORY_CN || found >= UTF8PROC_CATEGORY_CC;
}

bool is_letter(std::int32_t code_point) {
  const utf8proc_category_t found = category(code_point);
  return found >= UTF8PROC_CATEGORY_LU && found <= UTF8PROC_CATEGORY_LO;
}

bool is_number(std::int32_t code_point) {
  const utf8proc_category_t found = category(code_point);
  return found >= UTF8PROC_CATEGORY_ND && found <= UTF8PROC_CATEGORY_NO;
}

bool is_alphanumeric(std::int32_t code_point) {
  return is_letter(code_point) || is_number(code_point);
}

bool is_white_space(std::int32_t code_point) {
  const utf8proc_category_t found = category(code_point);
  return (code_point >= 0x09 && code_point <= 0x0D) || code_point == 0x85 ||
         (found >= UTF8PROC_CATEGORY_ZS && found <= UTF8PROC_CATEGORY_ZP);
}

bool is_python_space(std::int32_t code_point) {
  return is_white_space(code_point) || (code_point >= 0x1C && code_point <= 0x1F);
}

std::int32_t lower_case_of(std::int32_t code_point) { return utf8proc_tolower(code_point); }

int combining_class(std::int32_t code_point) {
  return utf8proc_get_property(code_point)->combining_class;
}

Decomposition decomposition_of(std::int32_t code_point) {
  Decomposition found{};
  int boundary = 0;
  constexpr auto kMost = static_cast<utf8proc_ssize_t>(std::size(Decomposition{}.parts));
  const utf8proc_ssize_t count =
      utf8proc_decompose_char(code_point, found.parts, kMost, UTF8PROC_DECOMPOSE, &boundary);
  SING_CHECK(count >= 0 && count <= kMost, "[text] wanted at most {} parts of U+{:04X}, got {}",
             kMost, code_point, count);
  found.count = static_cast<int>(count);
  return found;
}

}  // namespace sing::lab::text
