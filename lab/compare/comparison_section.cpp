// Turns the rows of a comparison into curves over the learning rate.
#include "lab/compare/comparison_section.hpp"

#include <algorithm>
#include <cmath>

#include "lab/page/html_text.hpp"
#include "lab/page/line_chart.hpp"
#include "lab/page/page_parts.hpp"
#include "lab/page/text_grid.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::compare {
namespace {

bool has_accuracy(const std::vector<Row>& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [](const Row& row) { return std::isfinite(row.accuracy.mean); });
}

page::CurvePoint point_of(const Row& row, bool of_accuracy) {
  const Statistic& value = of_accuracy ? row.accuracy : row.loss;
  const double scale = of_accuracy ? 100 : 1;
  return {row.learning_rate.value_or(row.own_rate), scale * value.mean, scale * value.low,
          scale * value.high};
}

std::vector<page::Curve> curves_of(const std::vector<Row>& rows, bool of_accuracy) {
  std::vector<page::Curve> curves;
  for (const Row& row : rows) {
    auto curve = std::find_if(curves.begin(), curves.end(), [&](const page::Curve& each) {
      return each.label == row.contestant;
    });
    if (curve == curves.end()) {
      const std::string style = fmt::format("color{}", curves.size() % page::kColors);
      curve = curves.insert(curves.end(), {.label = row.contestant, .style = style});
    }
    curve->points.push_back(point_of(row, of_accuracy));
  }
  for (page::Curve& curve : curves) {
    std::sort(curve.points.begin(), curve.points.end(),
              [](const auto& one, const auto& other) { return one.x < other.x; });
  }
  return curves;
}

std::string chart_of(const std::vector<Row>& rows) {
  const bool of_accuracy = has_accuracy(rows);
  const std::vector<page::Curve> curves = curves_of(rows, of_accuracy);
  const bool has_rates = std::any_of(curves.begin(), curves.end(), [](const page::Curve& curve) {
    return curve.points.size() > 1;
  });
  if (!has_rates) {
    return {};
  }
  return page::draw_keyed_chart(
      {.title = of_accuracy ? page::capitalized(score_column(rows)) + " by learning rate, %"
                            : "Loss by learning rate",
       .x_label = "learning rate",
       .x_scale = page::Scale::kLog,
       .y_scale = of_accuracy ? page::Scale::kLinear : page::Scale::kLog,
       .from_zero = of_accuracy},
      curves);
}

}  // namespace

std::string comparison_section(const std::vector<Row>& rows) {
  if (rows.empty()) {
    return {};
  }
  return "<section id=\"comparison\"><h2>Comparison</h2>\n<div class=\"charts even\">" +
         chart_of(rows) + "</div>\n" + page::text_grid("means", table_lines(rows)) +
         "<p class=\"note\">" + page::escape_html(runs_note(rows)) + "<br>" +
         page::escape_html(difference_note(rows)) + "</p></section>\n";
}

}  // namespace sing::lab::compare
