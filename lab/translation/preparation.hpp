// Prepares parallel text for training: parts, tokenizer, numbers of pieces (`sing data text`).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <tuple>

#include "sing/base/fields.hpp"

namespace sing::lab::translation {

struct PreparationOptions {
  std::int64_t vocabulary = 8000;
  std::int64_t source_column = 1;
  std::int64_t target_column = 2;
  std::int64_t validation_count = 2000;
  std::int64_t test_count = 2000;
  std::int64_t max_pieces = 175;
  double max_ratio = 0;

  static constexpr auto fields() {
    using P = PreparationOptions;
    return std::tuple{
        field("vocabulary", &P::vocabulary,
              "pieces that sentencepiece learns from the training part of both languages",
              between(8, 1e6)),
        field("source_column", &P::source_column, "of --pairs; the first is 1", between(1, 1000)),
        field("target_column", &P::target_column, "of --pairs; the first is 1", between(1, 1000)),
        field("validation_count", &P::validation_count,
              "pairs that are drawn for validation if no files are given", between(1, 1e7)),
        field("test_count", &P::test_count,
              "pairs that are drawn for the test if no files are given", between(1, 1e7)),
        field("max_pieces", &P::max_pieces, "longer sentences are not trained on", between(1, 1e5)),
        field("max_ratio", &P::max_ratio,
              "pairs are not trained on if one sentence has this many times the pieces of the "
              "other; 0: no limit",
              between(0, 1e5))};
  }
};

// The files that preparation reads. Empty paths are not given.
struct PreparationFiles {
  std::filesystem::path source, target;  // the training part, or all
  std::filesystem::path pairs;           // both in one file with tabs
  std::filesystem::path validation_source, validation_target, test_source, test_target;
  std::filesystem::path codes, source_dictionary, target_dictionary;  // instead of sentencepiece
};

struct PreparationSummary {
  std::int64_t training = 0, validation = 0, test = 0;  // pairs
  std::int64_t source_pieces = 0, target_pieces = 0;    // sizes of the vocabularies
  std::vector<std::string> notes;                       // say what was left out
  std::string digest;
};

// Writes the folder `out` (prepared_text.hpp), which depends only on the files' contents and the
// options. Throws FileError and std::invalid_argument.
PreparationSummary prepare_text(const PreparationFiles& files, const PreparationOptions& options,
                                const std::filesystem::path& out);

}  // namespace sing::lab::translation
