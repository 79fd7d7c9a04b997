// Assembles the parts of the page.
#include "lab/report/report_page.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>

#include "lab/page/html_text.hpp"
#include "lab/page/line_chart.hpp"
#include "lab/page/page_parts.hpp"
#include "lab/report/heat_map.hpp"
#include "lab/report/run_pictures.hpp"
#include "lab/report/run_style.hpp"
#include "lab/report/run_tables.hpp"
#include "lab/report/score_names.hpp"
#include "lab/report/time_bars.hpp"
#include "lab/run/named_values.hpp"
#include "lab/run/run_directory.hpp"
#include "lab/run/run_reader.hpp"
#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"
#include "sing/io/atomic_file.hpp"

namespace sing::lab::report {
namespace {

constexpr std::size_t kHeatMapColumns = 160;

enum class Over { kSteps, kEpochs };

struct Subject {
  const std::vector<run::RunRecord>& runs;
  const std::vector<std::string>& styles;
};

template <class Record>
std::vector<page::Curve> curves_of(const Subject& subject, Over over,
                                   std::vector<Record> run::RunRecord::* records,
                                   const std::function<double(const Record&)>& value) {
  std::vector<page::Curve> curves;
  for (std::size_t at = 0; at < subject.runs.size(); ++at) {
    const run::RunRecord& run = subject.runs[at];
    page::Curve curve{.label = run.name, .style = subject.styles[at]};
    for (const Record& record : run.*records) {
      const double x = over == Over::kSteps ? static_cast<double>(record.step) : record.epoch;
      curve.points.push_back(page::curve_point(x, value(record)));
    }
    curves.push_back(std::move(curve));
  }
  return curves;
}

// Rates that a comparison spreads over powers of ten are only readable on a logarithmic axis.
page::Scale learning_rate_scale(const std::vector<run::RunRecord>& runs) {
  page::AxisRange peaks;
  for (const run::RunRecord& run : runs) {
    double peak = 0;
    for (const run::StepRecord& record : run.steps) {
      peak = std::isfinite(record.learning_rate) ? std::max(peak, record.learning_rate) : peak;
    }
    if (peak > 0) {
      peaks.include(peak);
    }
  }
  return !peaks.empty && peaks.high > 5 * peaks.low ? page::Scale::kLog : page::Scale::kLinear;
}

// The losses and accuracies of a diverged run must not affect how the others are shown.
std::vector<page::Curve> marked(const Subject& subject, std::vector<page::Curve> curves) {
  for (std::size_t at = 0; at < curves.size(); ++at) {
    curves[at].diverged = subject.runs[at].has_diverged();
  }
  return curves;
}

std::string charts(const Subject& subject, Over over) {
  const std::string x = over == Over::kSteps ? "step" : "epoch";
  const auto of_steps = [&](double run::StepRecord::* member) {
    return curves_of<run::StepRecord>(
        subject, over, &run::RunRecord::steps,
        [=](const run::StepRecord& record) { return record.*member; });
  };
  const auto loss = [](const run::EvaluationRecord& record) { return record.loss; };
  const auto percent = [](const run::EvaluationRecord& record) { return 100 * record.accuracy; };
  const auto of_evaluations =
      [&](const std::function<double(const run::EvaluationRecord&)>& value) {
        return curves_of<run::EvaluationRecord>(subject, over, &run::RunRecord::evaluations, value);
      };
  std::string others;
  for (const std::string& name : other_scores(subject.runs)) {
    others += page::draw_line_chart(
        {.title = name, .x_label = x},
        marked(subject, of_evaluations([&](const run::EvaluationRecord& record) {
                 return run::value_of(record.others, name, run::kAbsent);
               })));
  }
  return page::draw_line_chart(
             {.title = "Training loss", .x_label = x, .y_scale = page::Scale::kLog},
             marked(subject, of_steps(&run::StepRecord::loss))) +
         page::draw_line_chart(
             {.title = "Evaluation loss", .x_label = x, .y_scale = page::Scale::kLog},
             marked(subject, of_evaluations(loss))) +
         page::draw_line_chart({.title = page::capitalized(score_name(subject.runs)) + ", %",
                                .x_label = x,
                                .from_zero = true},
                               marked(subject, of_evaluations(percent))) +
         others +
         page::draw_line_chart(
             {.title = "Learning rate", .x_label = x, .y_scale = learning_rate_scale(subject.runs)},
             of_steps(&run::StepRecord::learning_rate)) +
         page::draw_line_chart({.title = page::capitalized(unit_of(subject.runs)) + " per second",
                                .x_label = x,
                                .from_zero = true},
                               of_steps(&run::StepRecord::units_per_second));
}

std::string legend(const Subject& subject) {
  if (subject.runs.size() < 2) {
    return {};
  }
  std::string list = "<div class=\"legend\">";
  for (std::size_t at = 0; at < subject.runs.size(); ++at) {
    list += fmt::format("<button type=\"button\" data-run=\"run{}\"><i class=\"swatch ", at);
    list += subject.styles[at] + "\"></i>" + page::escape_html(subject.runs[at].name) + "</button>";
  }
  return list + "</div>\n";
}

std::string curves_section(const Subject& subject) {
  const std::string by_step = charts(subject, Over::kSteps);
  const std::string by_epoch = charts(subject, Over::kEpochs);
  std::string section = "<section id=\"curves\"><h2>Curves</h2>\n" + legend(subject);
  if (by_step.empty()) {
    section += "<p class=\"note\">No step was recorded yet.</p>\n";
  }
  section += "<div class=\"charts by-step\">" + by_step + "</div>\n";
  section += "<div class=\"charts by-epoch\">" + by_epoch + "</div>\n";
  return section + "</section>\n";
}

std::string notes(const run::RunRecord& run) {
  if (run.unreadable_lines == 0) {
    return {};
  }
  return fmt::format(
      "<p class=\"note\">{}{} of metrics.jsonl could not be read and {} left out.</p>\n",
      run.unreadable_lines, run.unreadable_lines == 1 ? " line" : " lines",
      run.unreadable_lines == 1 ? "is" : "are");
}

std::string run_section(const run::RunRecord& run, std::size_t runs) {
  const std::string content = notes(run) + draw_pictures(run, pictures_per_run(runs)) +
                              draw_heat_map(layer_norms(run.steps, kHeatMapColumns));
  if (content.empty()) {
    return {};
  }
  return fmt::format("<details class=\"run\"{}><summary>", runs <= 3 ? " open" : "") +
         page::escape_html(run.name) + "</summary>\n" + content + "</details>\n";
}

std::string runs_section(const std::vector<run::RunRecord>& runs) {
  std::string content;
  for (const run::RunRecord& run : runs) {
    content += run_section(run, runs.size());
  }
  if (content.empty()) {  // every run diverged before its first evaluation
    return {};
  }
  return "<section id=\"runs\"><h2>Pictures and gradients</h2>\n" + content + "</section>\n";
}

// The page may be shared without the command line, so it has to say that the data is not real.
std::string stand_in_note(const std::vector<run::RunRecord>& runs) {
  const auto count = std::count_if(runs.begin(), runs.end(), [](const run::RunRecord& run) {
    return run.setting("stand_in") == "true";
  });
  if (count == 0) {
    return {};
  }
  const std::string which = count == std::ssize(runs)
                                ? std::string()
                                : fmt::format("{} of the {} runs: ", count, runs.size());
  return fmt::format(
      "<p class=\"failed\">{}trained on generated stand-in data; these figures only show that the "
      "program runs.</p>\n",
      which);
}

// Returns the values of a setting, each once, with commas between them.
std::string values_of(const std::vector<run::RunRecord>& runs, const char* setting) {
  std::vector<std::string> values;
  for (const run::RunRecord& run : runs) {
    const std::string value = run.setting(setting);
    if (!value.empty() && std::find(values.begin(), values.end(), value) == values.end()) {
      values.push_back(value);
    }
  }
  return joined_names(values);
}

std::string heading(const std::vector<run::RunRecord>& runs) {
  const std::string tasks = values_of(runs, "task");
  const std::string optimizers = values_of(runs, "optimizer");
  const std::string many = optimizers.empty()
                               ? fmt::format("{} runs", runs.size())
                               : fmt::format("{} runs with {}", runs.size(), optimizers);
  const std::string what = runs.size() == 1 ? runs.front().name : many;
  return page::escape_html(tasks.empty() ? what : fmt::format("{}: {}", tasks, what));
}

constexpr std::string_view kAxisChoice =
    "<input type=\"radio\" name=\"over\" id=\"over-steps\" checked>"
    "<label for=\"over-steps\">over steps</label>"
    "<input type=\"radio\" name=\"over\" id=\"over-epochs\">"
    "<label for=\"over-epochs\">over epochs</label>\n";

}  // namespace

std::string report_page(const std::vector<run::RunRecord>& runs, const std::string& summary) {
  SING_CHECK(!runs.empty(), "[report] wanted at least one run, got none");
  const std::vector<std::string> styles = run_styles(runs);
  const Subject subject{runs, styles};
  const std::string name = heading(runs);
  std::string page(page::page_head());
  page += fmt::format("<title>{}</title>\n<style>{}</style></head><body>\n<h1>", name,
                      page::page_style());
  page += name + "</h1>\n" + stand_in_note(runs) + std::string(kAxisChoice) + "<main>\n" + summary;
  page += "<section><h2>Results</h2>\n" + results_table(runs, styles) + "</section>\n";
  page += curves_section(subject);
  page += "<section id=\"time\">" + draw_time_bars(runs) + "</section>\n";
  page += runs_section(runs);
  page += "<section id=\"options\"><h2>Options</h2>\n" + options_tables(runs);
  return page + fmt::format("</section>\n</main>\n<script>{}</script>\n</body></html>\n",
                            page::page_script());
}

void write_report(const std::filesystem::path& path, const std::vector<run::RunRecord>& runs,
                  const std::string& summary) {
  replace_file(path, report_page(runs, summary));
}

void write_report_of(const std::filesystem::path& path,
                     const std::vector<std::filesystem::path>& directories,
                     const std::string& summary, std::ostream& out) {
  std::vector<std::filesystem::path> found;
  for (const std::filesystem::path& directory : directories) {
    if (run::RunDirectory(directory).has_run()) {
      found.push_back(directory);
    }
  }
  if (!found.empty()) {
    write_report(path, run::read_runs(found), summary);
    out << "report: " << path.string() << '\n';
  }
}

}  // namespace sing::lab::report
