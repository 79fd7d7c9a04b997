// Defines the options of language modeling that are not the model's.
#pragma once

#include <cstdint>
#include <tuple>

#include "sing/base/fields.hpp"

namespace sing::lab::lm {

struct LmOptions {
  bool stand_in = false;
  std::int64_t stand_in_bytes = 400'000;
  double held_out = 0.05;
  std::int64_t test_windows = 0;
  std::int64_t sample_tokens = 200;

  static constexpr auto fields() {
    using L = LmOptions;
    return std::tuple{
        field("stand_in", &L::stand_in, "train on generated sentences; results mean nothing"),
        field("stand_in_bytes", &L::stand_in_bytes, "length of the generated text",
              between(1000, 1e9)),
        field("held_out", &L::held_out,
              "share of the text at its end that is the test set; as much before it is the "
              "validation set, and neither is trained on",
              between(1e-6, 0.45)),
        field("test_windows", &L::test_windows,
              "windows of an evaluation, at equal distances; 0: all", between(0, 1e9)),
        field("sample_tokens", &L::sample_tokens,
              "tokens that are generated at each evaluation, for the report", between(0, 1e5))};
  }
};

}  // namespace sing::lab::lm
