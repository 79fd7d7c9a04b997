// Draws a number for each pair of two values as a colored table.
#pragma once

#include <string>
#include <vector>

namespace sing::lab::page {

struct CellMap {
  std::string title;
  std::string row_name;
  std::string column_name;
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  struct Entry {
    std::string text;      // empty: nothing is known
    double share = 0;      // 0 … 1; selects the color
    bool colored = false;  // false for a cell without a number
    bool best = false;
  };
  std::vector<Entry> entries;  // row by row
};

// Uses the colors of the other heat maps and writes the numbers in the cells.
std::string draw_cell_map(const CellMap& map);

}  // namespace sing::lab::page
