// Wraps the functions of utf8proc.
#include "lab/text/character.hpp"

#include <utf8proc.h>

namespace sing::lab::text {
namespace {

constexpr std::int32_t kReplacementCharacter = 0xFFFD;
constexpr std::string_view kReplacementBytes = "\xEF\xBF\xBD";

bool is_white_space(std::int32_t code_point, utf8proc_category_t category) {
  return (code_point >= 0x09 && code_point <= 0x0D) || code_point == 0x85 ||
         (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP);
}

}  // namespace

Character character_at(std::string_view text, std::size_t place) {
  const auto* const begin = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + place;
  std::int32_t code_point = kReplacementCharacter;
  const utf8proc_ssize_t bytes =
      utf8proc_iterate(begin, static_cast<utf8proc_ssize_t>(text.size() - place), &code_point);
  return bytes > 0 ? Character{code_point, static_cast<std::size_t>(bytes)}
                   : Character{kReplacementCharacter, 1};
}

CharacterKind kind_of(std::int32_t code_point) {
  const utf8proc_category_t category = utf8proc_category(code_point);
  if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) {
    return CharacterKind::kLetter;
  }
  if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO) {
    return CharacterKind::kNumber;
  }
  return is_white_space(code_point, category) ? CharacterKind::kSpace : CharacterKind::kOther;
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  for (std::size_t place = 0; place < text.size();) {
    const Character character = character_at(text, place);
    valid += character.code_point == kReplacementCharacter ? kReplacementBytes
                                                           : text.substr(place, character.bytes);
    place += character.bytes;
  }
  return valid;
}

}  // namespace sing::lab::text
