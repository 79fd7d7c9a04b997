// A number for each of two values, as a colored table of the page.
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
    double share = 0;      // 0 … 1, the color
    bool colored = false;  // one without a number has no color
    bool best = false;
  };
  std::vector<Entry> entries;  // row by row
};

// Colors as in the other heat maps, numbers in the cells.
std::string draw_cell_map(const CellMap& map);

}  // namespace sing::lab::page
