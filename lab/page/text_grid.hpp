// Writes lines of text cells as an HTML table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sing::lab::page {

// The first line is the head. The lines are those of command::text_table.
std::string text_grid(std::string_view id, const std::vector<std::vector<std::string>>& lines);

}  // namespace sing::lab::page
