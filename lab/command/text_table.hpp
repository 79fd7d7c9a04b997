// Formats tables for a terminal.
#pragma once

#include <string>
#include <vector>

namespace sing::lab::command {

// Returns one line per row with aligned columns, two spaces between them and none at the end. All
// rows must have as many cells as the first.
std::string text_table(const std::vector<std::vector<std::string>>& lines);

}  // namespace sing::lab::command
