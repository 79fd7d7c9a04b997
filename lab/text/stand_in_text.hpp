// Generates text to train on where there is no data: it shows that a program runs and nothing else.
#pragma once

#include <cstdint>
#include <string>

namespace sing::lab::text {

// Returns at least `bytes` bytes of short English sentences, which depend only on the arguments.
// The words of a sentence agree with each other, so that a model has something to learn.
std::string make_stand_in_text(std::uint64_t seed, std::int64_t bytes);

// Returns the notice that every report of a result on such text must contain.
std::string stand_in_text_notice();

}  // namespace sing::lab::text
