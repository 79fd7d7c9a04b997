// Generates questions with answers to train on where there is no data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/squad/squad_file.hpp"

namespace sing::lab::squad {

// Each context tells in a few short sentences who did what, where and when; each question asks for
// one of these. Depends only on the arguments; sets of different `purpose` are different.
std::vector<Paragraph> make_stand_in(std::int64_t paragraphs, std::uint32_t purpose);

// The words of all such texts, which are their vocabulary.
std::vector<std::string> stand_in_words();

}  // namespace sing::lab::squad
