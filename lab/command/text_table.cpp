// Pads each column to its widest cell.
#include "lab/command/text_table.hpp"

#include <algorithm>
#include <cstddef>

namespace sing::lab::command {
namespace {

// Returns the width on the screen: the number of bytes that do not continue a UTF-8 character.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & '\xc0') != '\x80'; }));
}

}  // namespace

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
