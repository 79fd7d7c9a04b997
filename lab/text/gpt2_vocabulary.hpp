// Declares GPT-2's vocabulary: byte pair encoding of the bytes of words (Radford et al. 2019).
#pragma once

#include <filesystem>
#include <memory>

#include "lab/text/vocabulary.hpp"

namespace sing::lab::text {

// Reads encoder.json and vocab.bpe, GPT-2's official files, in `folder`, or the same with Hugging
// Face's names, vocab.json and merges.txt. Special tokens such as
// <|endoftext|> are in the vocabulary, but no text is encoded as one. Throws FileError for a
// missing file and std::invalid_argument for one with other content.
std::unique_ptr<Vocabulary> make_gpt2_vocabulary(const std::filesystem::path& folder);

}  // namespace sing::lab::text
