// Declares vocabularies that need no file: of all bytes, and of the characters of a text.
#pragma once

#include <memory>
#include <string_view>

#include "lab/text/vocabulary.hpp"

namespace sing::lab::text {

// Token n is the byte n.
std::unique_ptr<Vocabulary> make_byte_vocabulary();

// Has the different characters of a text in the order of their code points. Bytes that are not
// valid UTF-8 are characters too.
std::unique_ptr<Vocabulary> make_character_vocabulary(std::string_view text);

}  // namespace sing::lab::text
