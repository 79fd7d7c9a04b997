// Trains and applies models of the library sentencepiece (Kudo and Richardson 2018).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lab/text/tokenizer.hpp"

namespace sing::lab::text {

// Learns `size` pieces by byte pair merges from lines and returns the content of the model's file,
// which depends on nothing else. All characters of the lines are covered, and no character is
// changed. Throws std::invalid_argument, for example if there is too little text for `size` pieces.
std::string train_sentence_pieces(const std::vector<std::string>& lines, std::int64_t size);

// Throws std::invalid_argument unless `model` is the content of a model's file with the special
// pieces of tokenizer.hpp.
std::unique_ptr<Tokenizer> make_sentence_piece_tokenizer(std::string_view model);

}  // namespace sing::lab::text
