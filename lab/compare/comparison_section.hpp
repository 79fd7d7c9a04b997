// Shows a comparison on the report's page: the table, and accuracy against learning rate.
#pragma once

#include <string>
#include <vector>

#include "lab/compare/result_table.hpp"

namespace sing::lab::compare {

// Returns a section of HTML. Its chart has one curve per contestant through the means, with a band
// from the worst to the best seed; it is there if a contestant has several learning rates. Tasks
// without an accuracy have their loss drawn.
std::string comparison_section(const std::vector<Row>& rows);

}  // namespace sing::lab::compare
