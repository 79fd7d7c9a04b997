// Reads one character after the other.
#include "lab/choice/csv.hpp"

#include "sing/base/message.hpp"

namespace sing::lab::choice {

std::vector<CsvRow> parse_csv(std::string_view content, std::string_view file) {
  std::vector<CsvRow> rows;
  std::size_t line = 1;
  CsvRow row{line, {}};
  std::string field;
  bool was_quoted = false;
  const auto end_field = [&] {
    row.fields.push_back(std::move(field));
    field.clear();
    was_quoted = false;
  };
  const auto end_row = [&] {
    if (!row.fields.empty() || !field.empty() || was_quoted) {  // an empty line is no row
      end_field();
      rows.push_back(std::move(row));
    }
    row = {line, {}};
  };
  const auto refuse = [&](std::size_t at, const char* got) {
    throw FileError(fmt::format("[csv] '{}': wanted fields separated by commas, got {} in line {}",
                                file, got, at));
  };
  for (std::size_t i = 0; i < content.size(); ++i) {
    const char each = content[i];
    if (each == '"' && field.empty() && !was_quoted) {
      const std::size_t opened = line;
      for (++i;; ++i) {
        if (i >= content.size()) {
          refuse(opened, "a quotation mark that is not closed");
        }
        if (content[i] == '"' && (i + 1 >= content.size() || content[i + 1] != '"')) {
          break;
        }
        i += content[i] == '"' ? 1 : 0;  // a doubled mark
        line += content[i] == '\n' ? 1 : 0;
        field += content[i];
      }
      was_quoted = true;
    } else if (each == ',') {
      end_field();
    } else if (each == '\n') {
      ++line;
      end_row();
    } else if (each == '\r' && i + 1 < content.size() && content[i + 1] == '\n') {
      continue;
    } else if (was_quoted) {
      refuse(line, "text behind a closing quotation mark");
    } else {
      field += each;
    }
  }
  end_row();
  return rows;
}

}  // namespace sing::lab::choice
