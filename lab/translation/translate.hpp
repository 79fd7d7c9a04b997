// Translates sentences with a trained model.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lab/model/translator.hpp"
#include "lab/translation/prepared_text.hpp"

namespace sing::lab::translation {

struct SearchSetting {
  std::int64_t width = 5;
  double length_penalty = 1;
  // A translation has at most length_factor · source + length_offset pieces.
  double length_factor = 2;
  std::int64_t length_offset = 20;
  std::int64_t batch_tokens = 4096;  // source pieces × width that are translated together
  at::Device device = at::kCPU;
  bool bf16 = false;  // matrix products under autocast
};

// Returns the pieces of the best translation of each of the given sentences, without kEnd.
std::vector<std::vector<Piece>> translate(model::TranslatorImpl& model,
                                          const EncodedSentences& source,
                                          std::span<const std::int64_t> sentences,
                                          const SearchSetting& setting);

// Copies rows of pieces into an int64 tensor [rows, longest] that kPadding fills up.
at::Tensor padded_rows(const std::vector<std::span<const Piece>>& rows, bool pinned);

}  // namespace sing::lab::translation
