// Counts characters of UTF-8.
#include "lab/command/text_width.hpp"

#include <algorithm>

namespace sing::lab::command {
namespace {

bool begins_character(char byte) { return (byte & '\xc0') != '\x80'; }

}  // namespace

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string cut(const std::string& text, std::size_t width) {
  std::size_t bytes = 0;
  for (std::size_t shown = 0; bytes < text.size(); ++bytes) {
    if (begins_character(text[bytes]) && shown++ == width) {
      break;
    }
  }
  return text.substr(0, bytes);
}

}  // namespace sing::lab::command
