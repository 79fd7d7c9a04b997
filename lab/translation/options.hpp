// Defines the options of translation that are not the model's.
#pragma once

#include <cstdint>
#include <tuple>

#include "sing/base/fields.hpp"

namespace sing::lab::translation {

struct TranslationOptions {
  double label_smoothing = 0.1;
  std::int64_t beam = 5;
  double length_penalty = 1;
  double length_factor = 2;
  std::int64_t length_offset = 20;
  std::int64_t evaluation_beam = 1;
  std::int64_t evaluation_sentences = 500;
  bool stand_in = false;
  std::int64_t stand_in_train = 4000;
  std::int64_t stand_in_test = 200;

  static constexpr auto fields() {
    using T = TranslationOptions;
    return std::tuple{
        field("label_smoothing", &T::label_smoothing,
              "share of the target spread over the vocabulary, in the test loss too",
              from_zero_below(1)),
        field("beam", &T::beam, "width of the search by which sing eval translates",
              between(1, 1000)),
        field("length_penalty", &T::length_penalty,
              "a hypothesis of n pieces scores its log-probability / n ^ length_penalty",
              between(0, 100)),
        field("length_factor", &T::length_factor,
              "pieces of a translation per source piece, at most", between(0, 1000)),
        field("length_offset", &T::length_offset, "pieces that it may have beyond that",
              between(0, 1e5)),
        field("evaluation_beam", &T::evaluation_beam,
              "width of the search in evaluations during training; 1: greedy", between(1, 1000)),
        field("evaluation_sentences", &T::evaluation_sentences,
              "sentences that evaluations during training translate, at equal distances; 0: none, "
              "and the lowest loss is the best",
              between(0, 1e9)),
        field("stand_in", &T::stand_in,
              "train on a generated pair of languages; results mean nothing"),
        field("stand_in_train", &T::stand_in_train, "number of generated training pairs",
              between(1, 1e5)),
        field("stand_in_test", &T::stand_in_test,
              "number of generated pairs for validation and for the test", between(1, 1e4))};
  }
};

}  // namespace sing::lab::translation
