// Ours beside the paper's.
#pragma once

#include <string>
#include <vector>

#include "lab/reproduce/reproduction.hpp"

namespace sing::lab::reproduce {

// Plain text, a line a row: mean ± standard deviation over the finished seeds, and the paper's.
std::string text_of(const std::vector<RowState>& rows);

// The same as a section of the report.
std::string section_of(const PaperTable& table, const std::vector<RowState>& rows,
                       const std::string& notice);

// A line a row: its recipe and how many of its seeds are done.
std::string list_text(const PaperTable& table, const std::vector<RowState>& rows);

}  // namespace sing::lab::reproduce
