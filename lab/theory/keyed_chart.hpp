// A line chart with the names of its curves below it.
#pragma once

#include <string>
#include <vector>

#include "lab/report/html_text.hpp"
#include "lab/report/line_chart.hpp"
#include "sing/base/message.hpp"

namespace sing::theory {

inline std::string draw_keyed_chart(const report::ChartOptions& options,
                                    const std::vector<report::Curve>& curves) {
  std::string drawn = "<div>" + report::draw_line_chart(options, curves) + "<p class=\"key\">";
  for (const report::Curve& curve : curves) {
    drawn += fmt::format("<i class=\"swatch {}\"></i>", curve.style);
    drawn += report::escape_html(curve.label) + " ";
  }
  return drawn + "</p></div>\n";
}

}  // namespace sing::theory
