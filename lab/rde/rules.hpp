// The rules that a drawn scene must keep, and the heights of its rectangles.
#pragma once

#include <cstdint>

#include "lab/rde/cell_grid.hpp"
#include "lab/rde/options.hpp"
#include "lab/rde/scene.hpp"

namespace sing::lab::rde {

// No two rectangles have a side on the same line.
bool has_distinct_lines(const Scene& scene);

bool shows_enough(const RdeOptions& options, const CellGrid& grid);

// Under chain labels, rectangle k touches rectangle k − 1; no demand under stack labels.
bool keeps_chain(const RdeOptions& options, const Contacts& contacts);

// height(k) = 1 + the largest height among the rectangles that k touches and lies over.
void set_heights(Scene& scene, const Contacts& contacts);

}  // namespace sing::lab::rde
