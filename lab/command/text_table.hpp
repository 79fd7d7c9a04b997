// Tables for a terminal.
#pragma once

#include <string>
#include <vector>

namespace sing::lab::command {

// A line a row, columns of equal width, two spaces between them, none at the end. All lines have as
// many cells as the first.
std::string text_table(const std::vector<std::vector<std::string>>& lines);

}  // namespace sing::lab::command
