// Generates a pair of languages to try out a recipe without data.
#pragma once

#include <cstdint>

#include "lab/translation/prepared_text.hpp"

namespace sing::lab::translation {

// Sentences of a subject, a verb and an object. The target language has the verb at the end,
// adjectives after their nouns, and articles that depend on the noun, so that a translator has to
// look at several places. The parts have no sentence in common and depend only on the counts, of
// which the second is that of validation and of test each.
PreparedText make_stand_in(std::int64_t training_count, std::int64_t test_count);

// The notice that every output of a run on such sentences contains.
inline constexpr const char* kStandInNotice =
    "generated pair of languages (--stand-in): these results say nothing about real text";

}  // namespace sing::lab::translation
