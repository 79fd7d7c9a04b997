// Splits a text into the words of BERT's basic tokenizer: cleaned, in lower case without accents,
// cut at white space, at punctuation and around CJK ideographs.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lab/text/code_points.hpp"

namespace sing::lab::text {

// A word's characters after normalization, each with the bytes of the text that it comes from. A
// character that decomposes into several gives its bytes to each of them.
using BasicWord = std::vector<CodePoint>;

// Equals the normalizer and the pre-tokenizer of Hugging Face's BertTokenizer, up to the version of
// Unicode. Without `lower_case`, case and accents stay. Names of special tokens such as [SEP] in a
// text are words like others.
std::vector<BasicWord> basic_words(std::string_view text, bool lower_case);

}  // namespace sing::lab::text
