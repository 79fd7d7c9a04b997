// Names the two parts of a data set.
#pragma once

#include <cstdint>

namespace sing::lab::data {

enum class Split : std::uint8_t { kTraining, kTest };

}  // namespace sing::lab::data
