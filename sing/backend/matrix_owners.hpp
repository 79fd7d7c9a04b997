// Decides which process makes which matrix orthogonal, where processes hold the matrices in parts.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sing/backend/newton_schulz.hpp"

namespace sing {

// Returns the number of a process for each matrix: the matrices with most work first, each to the
// process that has least work so far. It depends on the shapes alone, so that all processes agree.
std::vector<std::size_t> assign_owners(std::span<const Matrices> matrices, std::size_t processes);

}  // namespace sing
