// Compares our results with the paper's.
#pragma once

#include <string>
#include <vector>

#include "lab/reproduce/reproduction.hpp"

namespace sing::lab::reproduce {

// Returns plain text with one line per row: mean ± standard deviation over the finished seeds, and
// the paper's figures.
std::string text_of(const std::vector<RowState>& rows);

// Returns the same table as a section of the report.
std::string section_of(const PaperTable& table, const std::vector<RowState>& rows,
                       const std::string& notice);

// Returns one line per row: its recipe and how many of its seeds are done.
std::string list_text(const PaperTable& table, const std::vector<RowState>& rows);

}  // namespace sing::lab::reproduce
