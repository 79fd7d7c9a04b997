// Escapes every cell and puts the table into a box that scrolls sideways.
#include "lab/page/text_grid.hpp"

#include "lab/page/html_text.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::page {
namespace {

std::string row_of(const std::vector<std::string>& cells, const char* element) {
  std::string row = "<tr>";
  for (const std::string& cell : cells) {
    row += fmt::format("<{}>{}</{}>", element, escape_html(cell), element);
  }
  return row + "</tr>\n";
}

}  // namespace

std::string text_grid(std::string_view id, const std::vector<std::vector<std::string>>& lines) {
  std::string table = fmt::format("<div class=\"wide\"><table id=\"{}\"><thead>", id);
  table += row_of(lines.front(), "th") + "</thead><tbody>\n";
  for (std::size_t at = 1; at < lines.size(); ++at) {
    table += row_of(lines[at], "td");
  }
  return table + "</tbody></table></div>";
}

}  // namespace sing::lab::page
