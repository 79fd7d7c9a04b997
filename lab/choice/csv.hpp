// Splits comma-separated values into rows (RFC 4180).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sing::lab::choice {

struct CsvRow {
  std::size_t line;  // where it begins, from 1
  std::vector<std::string> fields;
};

// A field in quotation marks may contain commas, line ends and doubled quotation marks. Throws
// FileError with the name `file` for a quotation mark that is not closed or has text behind it.
std::vector<CsvRow> parse_csv(std::string_view content, std::string_view file);

}  // namespace sing::lab::choice
