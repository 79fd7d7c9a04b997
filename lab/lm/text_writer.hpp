// Lets a language model write text.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "lab/text/vocabulary.hpp"

namespace sing::lab::lm {

// Maps tokens int64 [1, T] to the logits of the next tokens [1, T, vocabulary].
using NextTokens = std::function<at::Tensor(const at::Tensor& tokens)>;

// Returns `count` tokens that follow `begin`, each drawn with the probability that the model gives
// it after the last `context` tokens. The draws depend on nothing but the seed.
std::vector<text::Token> write_tokens(const NextTokens& model, std::vector<text::Token> begin,
                                      std::int64_t count, std::int64_t context, std::uint64_t seed);

}  // namespace sing::lab::lm
