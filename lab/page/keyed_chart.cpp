// Adds a paragraph of names and swatches to a chart.
#include "lab/page/keyed_chart.hpp"

#include "lab/page/html_text.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::page {

std::string draw_keyed_chart(const ChartOptions& options, const std::vector<Curve>& curves) {
  const std::string chart = draw_line_chart(options, curves);
  if (chart.empty()) {
    return {};
  }
  std::string drawn = "<div>" + chart + "<p class=\"key\">";
  for (const Curve& curve : curves) {
    drawn += fmt::format("<i class=\"swatch {}\"></i>", curve.style);
    drawn += escape_html(curve.label) + " ";
  }
  return drawn + "</p></div>\n";
}

}  // namespace sing::lab::page
