// Draws a line chart with the names of its curves below it.
#pragma once

#include <string>
#include <vector>

#include "lab/page/html_text.hpp"
#include "lab/page/line_chart.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::theory {

inline std::string draw_keyed_chart(const page::ChartOptions& options,
                                    const std::vector<page::Curve>& curves) {
  std::string drawn = "<div>" + page::draw_line_chart(options, curves) + "<p class=\"key\">";
  for (const page::Curve& curve : curves) {
    drawn += fmt::format("<i class=\"swatch {}\"></i>", curve.style);
    drawn += page::escape_html(curve.label) + " ";
  }
  return drawn + "</p></div>\n";
}

}  // namespace sing::lab::theory
