// Draws stacked bars as SVG.
#include "lab/report/time_bars.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "lab/page/axis.hpp"
#include "lab/page/html_text.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::report {
namespace {

// Units of the drawing.
constexpr double kBarsWidth = 1000;
constexpr double kBarsLeft = 250;
constexpr double kBarsRight = 880;
constexpr double kBarsTop = 6;
constexpr double kBarsRowHeight = 24;

struct Part {
  const char* name;
  const char* style;
  double StepTime::* seconds;
};
constexpr std::array<Part, 3> kParts = {
    {{"data", "data", &StepTime::data},
     {"forward + backward", "model", &StepTime::forward_backward},
     {"optimizer", "optimizer", &StepTime::optimizer}}};

std::string milliseconds(double seconds) { return page::short_number(1e3 * seconds, 3) + " ms"; }

std::string draw_bar(const run::RunRecord& run, const StepTime& time, const page::Axis& axis,
                     double top) {
  const std::string middle = page::coordinate(top + kBarsRowHeight / 2);
  std::string drawn = fmt::format("<text class=\"y\" x=\"{}\" y=\"{}", kBarsLeft - 6, middle);
  drawn += fmt::format("\" dy=\".35em\">{}</text>", page::escape_html(run.name));
  double begin = 0;
  for (const Part& part : kParts) {
    const double end = begin + time.*part.seconds;
    drawn +=
        fmt::format("<rect class=\"{}\" x=\"{}", part.style, page::coordinate(axis.place(begin)));
    drawn += fmt::format("\" y=\"{}\" width=\"", top + 3);
    drawn += page::coordinate(axis.place(end) - axis.place(begin));
    drawn += fmt::format("\" height=\"{}\"><title>{}: ", kBarsRowHeight - 6, part.name);
    drawn +=
        milliseconds(time.*part.seconds) + ", " + page::percent_text((end - begin) / time.sum());
    drawn += "</title></rect>";
    begin = end;
  }
  drawn += fmt::format("<text x=\"{}\" y=\"{}", page::coordinate(axis.place(begin) + 6), middle);
  return drawn + "\" dy=\".35em\">" + milliseconds(time.sum()) + "</text>";
}

}  // namespace

StepTime step_time(const run::RunRecord& run) {
  StepTime mean;
  double count = 0;
  const std::size_t first = run.steps.size() > 1 ? 1 : 0;
  for (std::size_t at = first; at < run.steps.size(); ++at) {
    const run::StepRecord& record = run.steps[at];
    const StepTime time{record.data_seconds, record.forward_backward_seconds,
                        record.optimizer_seconds};
    if (std::isfinite(time.sum())) {
      mean.data += time.data;
      mean.forward_backward += time.forward_backward;
      mean.optimizer += time.optimizer;
      ++count;
    }
  }
  for (const Part& part : kParts) {
    mean.*part.seconds = count > 0 ? mean.*part.seconds / count : run::kAbsent;
  }
  return mean;
}

std::string draw_time_bars(const std::vector<run::RunRecord>& runs) {
  page::AxisRange range;
  std::vector<std::pair<const run::RunRecord*, StepTime>> bars;
  for (const run::RunRecord& run : runs) {
    const StepTime time = step_time(run);
    if (time.sum() > 0) {
      bars.emplace_back(&run, time);
      range.include(time.sum());
    }
  }
  if (bars.empty()) {
    return {};
  }
  range.low = 0;
  const page::Axis axis(range, page::Scale::kLinear, kBarsLeft, kBarsRight);
  std::string drawn = "<figure class=\"times\"><figcaption>Time of a training step <small>mean";
  for (const Part& part : kParts) {
    drawn += fmt::format(" <b class=\"{}\"></b> {}", part.style, part.name);
  }
  drawn += fmt::format("</small></figcaption><svg viewBox=\"0 0 {} ", kBarsWidth);
  drawn += fmt::format("{}\" role=\"img\"",
                       kBarsTop + kBarsRowHeight * static_cast<double>(bars.size()) + 6);
  drawn += " aria-label=\"Time of a training step\">";
  double top = kBarsTop;
  for (const auto& [run, time] : bars) {
    drawn += draw_bar(*run, time, axis, top);
    top += kBarsRowHeight;
  }
  return drawn + "</svg></figure>\n";
}

}  // namespace sing::lab::report
