// Declares the rules that a drawn scene must satisfy and the heights of its rectangles.
#pragma once

#include <cstdint>

#include "lab/rde/cell_grid.hpp"
#include "lab/rde/options.hpp"
#include "lab/rde/scene.hpp"

namespace sing::lab::rde {

// Returns whether no two rectangles have a side on the same line.
bool has_distinct_lines(const Scene& scene);

bool shows_enough(const RdeOptions& options, const CellGrid& grid);

// With chain labels: each rectangle k touches rectangle k − 1. With stack labels always true.
bool keeps_chain(const RdeOptions& options, const Contacts& contacts);

// height(k) = 1 + the largest height among the rectangles that k touches and lies over.
void set_heights(Scene& scene, const Contacts& contacts);

}  // namespace sing::lab::rde
