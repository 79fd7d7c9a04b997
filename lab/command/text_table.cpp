// Pads each column to its widest cell.
#include "lab/command/text_table.hpp"

#include <algorithm>
#include <cstddef>

#include "lab/command/text_width.hpp"

namespace sing::lab::command {
std::string text_table(const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> widths(lines.front().size());
  for (const auto& line : lines) {
    for (std::size_t column = 0; column < line.size(); ++column) {
      widths[column] = std::max(widths[column], width_of(line[column]));
    }
  }
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (std::size_t column = 0; column < line.size(); ++column) {
      row += line[column] + std::string(widths[column] - width_of(line[column]) + 2, ' ');
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

}  // namespace sing::lab::command
