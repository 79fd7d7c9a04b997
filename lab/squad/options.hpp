// Defines the options of question answering.
#pragma once

#include <cstdint>
#include <tuple>

#include "sing/base/fields.hpp"

namespace sing::lab::squad {

// The defaults are those of Hugging Face's run_squad.py.
struct SquadOptions {
  std::int64_t length = 384;
  std::int64_t stride = 128;
  std::int64_t question_length = 64;
  std::int64_t answer_length = 30;
  std::int64_t best = 20;
  bool stand_in = false;
  std::int64_t stand_in_count = 800;

  static constexpr auto fields() {
    using O = SquadOptions;
    return std::tuple{
        field("length", &O::length, "tokens of a window: question, context and special tokens",
              between(8, 4096)),
        field("stride", &O::stride, "tokens from the beginning of a window to the next",
              between(1, 4096)),
        field("question_length", &O::question_length, "tokens of a question; the rest is left out",
              between(1, 4096)),
        field("answer_length", &O::answer_length, "most tokens of an answer", between(1, 4096)),
        field("best", &O::best, "first tokens, and last ones, that are tried per window",
              between(1, 4096)),
        field("stand_in", &O::stand_in, "train on generated questions; results mean nothing"),
        field("stand_in_count", &O::stand_in_count,
              "generated contexts for training, four questions each", between(1, 1e6))};
  }
};

}  // namespace sing::lab::squad
