// Generates multiple choice to train on where there is no data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/choice/choice_item.hpp"

namespace sing::lab::choice {

// Each context names a craft, and one of the four endings what is done in it. Depends only on the
// arguments; sets of different `purpose` are different.
std::vector<ChoiceItem> make_stand_in(std::int64_t count, std::uint32_t purpose);

// The words of all such texts, which are their vocabulary.
std::vector<std::string> stand_in_words();

}  // namespace sing::lab::choice
