// Splits text into words and characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sing::lab::text {

bool is_utf8(std::string_view text);

// Returns the characters of valid UTF-8, as views into `text`.
std::vector<std::string_view> characters_of(std::string_view text);

// Returns the number of bytes of the white space character at the front of `text`, or 0 if there is
// none. White space is what Python's str.split() splits at.
std::size_t white_space_at(std::string_view text);

// Splits at runs of white space, as Python's str.split() does; the words are views into `text`.
std::vector<std::string_view> split_words(std::string_view text);

// Returns the words with one space between them.
std::string join_words(const std::vector<std::string_view>& words);

}  // namespace sing::lab::text
