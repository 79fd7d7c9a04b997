// Writes the map as a table. Unlike the map of gradient norms it has few cells, so each shows its
// number.
#include "lab/page/cell_map.hpp"

#include "lab/page/html_text.hpp"
#include "lab/picture/color_map.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::page {
namespace {

// Dark text is used on the light half of the scale.
std::string colors_of(double share) {
  const picture::Color color = picture::scale_color(share);
  return fmt::format("background:rgb({},{},{});color:{}", int{color[0]}, int{color[1]},
                     int{color[2]}, share > 0.5 ? "#000" : "#fff");
}

std::string cell_of(const CellMap::Entry& entry) {
  std::string cell = entry.best ? "<td class=\"best\"" : "<td";
  if (entry.colored) {
    cell += fmt::format(" style=\"{}\"", colors_of(entry.share));
  }
  return cell + ">" + escape_html(entry.text) + "</td>";
}

}  // namespace

std::string draw_cell_map(const CellMap& map) {
  SING_CHECK(map.entries.size() == map.rows.size() * map.columns.size(),
             "[report] wanted {} cells, got {}", map.rows.size() * map.columns.size(),
             map.entries.size());
  std::string table = fmt::format("<figure><figcaption>{}</figcaption>", escape_html(map.title));
  table += "<div class=\"wide\"><table class=\"cells\"><thead><tr><th>";
  table += escape_html(fmt::format("{} \\ {}", map.row_name, map.column_name)) + "</th>";
  for (const std::string& column : map.columns) {
    table += "<th>" + escape_html(column) + "</th>";
  }
  table += "</tr></thead><tbody>\n";
  std::size_t at = 0;
  for (const std::string& row : map.rows) {
    table += "<tr><th>" + escape_html(row) + "</th>";
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
      table += cell_of(map.entries[at++]);
    }
    table += "</tr>\n";
  }
  return table + "</tbody></table></div></figure>\n";
}

}  // namespace sing::lab::page
