// Divides text into the words within which GPT-2's tokenizer merges bytes.
#pragma once

#include <string_view>
#include <vector>

namespace sing::lab::text {

// Returns the matches of GPT-2's regular expression, which cover the text:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// A byte that is not part of valid UTF-8 counts as a character that is neither space, letter nor
// number.
std::vector<std::string_view> gpt2_words(std::string_view text);

}  // namespace sing::lab::text
