// Declares the width of a text on the screen, in characters of UTF-8.
#pragma once

#include <cstddef>
#include <string>

namespace sing::lab::command {

// Returns the number of bytes that do not continue a UTF-8 character.
std::size_t width_of(const std::string& text);

// Returns the first `width` characters.
std::string cut(const std::string& text, std::size_t width);

}  // namespace sing::lab::command
