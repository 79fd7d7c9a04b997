// Encodes three bytes as four characters.
#include "lab/page/base64.hpp"

#include <cstdint>

namespace sing::lab::page {

std::string base64(std::string_view bytes) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t bits = 0;
    for (std::size_t place = 0; place < 3; ++place) {
      const auto byte =
          at + place < bytes.size() ? static_cast<unsigned char>(bytes[at + place]) : 0U;
      bits = bits << 8 | byte;
    }
    for (std::size_t place = 0; place < 4; ++place) {
      const bool padding = at + place > bytes.size();
      text += padding ? '=' : kAlphabet[bits >> (18 - 6 * place) & 63];
    }
  }
  return text;
}

}  // namespace sing::lab::page
