// Shows a comparison on the report's page: the table, and accuracy against learning rate.
#pragma once

#include <string>
#include <vector>

#include "lab/compare/result_table.hpp"

namespace sing::lab::compare {

// Returns a section of HTML. If a contestant has several learning rates, the section has a chart:
// one curve per contestant through the means, with a band from the worst to the best seed. The
// chart shows the loss of tasks that have no accuracy.
std::string comparison_section(const std::vector<Row>& rows);

}  // namespace sing::lab::compare
