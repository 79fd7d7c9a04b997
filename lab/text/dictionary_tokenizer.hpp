// Tokenizes with a dictionary, after segmenting words with byte pair codes where there are any.
#pragma once

#include <memory>

#include "lab/text/byte_pair_codes.hpp"
#include "lab/text/dictionary.hpp"

namespace sing::lab::text {

// `codes` may be null: the words of a line then are its pieces.
std::unique_ptr<Tokenizer> make_dictionary_tokenizer(std::shared_ptr<const BytePairCodes> codes,
                                                     Dictionary dictionary);

}  // namespace sing::lab::text
