// Writes tables as HTML.
#include "lab/report/run_tables.hpp"

#include <algorithm>
#include <cmath>

#include "lab/page/html_text.hpp"
#include "lab/report/score_names.hpp"
#include "lab/run/named_values.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::report {
namespace {

std::string cell(const std::string& text) { return "<td>" + page::escape_html(text) + "</td>"; }
std::string number_cell(const std::string& text) {
  return "<td class=\"number\">" + page::escape_html(text) + "</td>";
}

// Returns the end record or, if the run has none, the last measurements.
run::EndRecord end_of(const run::RunRecord& run) {
  if (run.end) {
    return *run.end;
  }
  run::EndRecord end;
  if (!run.evaluations.empty()) {
    end.final_accuracy = run.evaluations.back().accuracy;
    end.final_loss = run.evaluations.back().loss;
    end.others = run.evaluations.back().others;
    for (const run::EvaluationRecord& evaluation : run.evaluations) {
      end.best_accuracy = std::fmax(end.best_accuracy, evaluation.accuracy);
    }
  }
  return end;
}

std::string result_row(const run::RunRecord& run, const std::string& style,
                       const std::vector<std::string>& others) {
  const run::EndRecord end = end_of(run);
  const std::string_view status = run.end ? name_of(end.status) : "unfinished";
  const auto shown = [&](double value) { return run.has_diverged() ? run::kAbsent : value; };
  const run::StepRecord last = run.steps.empty() ? run::StepRecord{} : run.steps.back();
  std::string row =
      fmt::format("<tr><td><i class=\"swatch {}\"></i>{}", style, page::escape_html(run.name));
  row += "</td>" + cell(run.setting("optimizer")) + number_cell(run.setting("learning_rate"));
  row += number_cell(run.setting("seed"));
  row += fmt::format("<td class=\"{}\">{}</td>", status, status) + cell(run::evaluated_on(run));
  row += number_cell(page::percent_text(shown(end.final_accuracy)));
  row += number_cell(page::percent_text(shown(end.best_accuracy)));
  row += number_cell(page::short_number(shown(end.final_loss)));
  for (const std::string& name : others) {
    row += number_cell(page::short_number(shown(run::value_of(end.others, name, run::kAbsent))));
  }
  row += number_cell(page::short_number(static_cast<double>(last.step), 9));
  row += number_cell(page::short_number(last.units_per_second));
  row += number_cell(page::duration_text(end.seconds));
  return row + "</tr>\n";
}

constexpr const char* kNoValue = "–";

std::string value_of(const run::RunRecord& run, const std::string& key) {
  return run::value_of(run.settings, key, std::string(kNoValue));
}

// Returns the keys of all runs in the order in which they first occur.
std::vector<std::string> keys_of(const std::vector<run::RunRecord>& runs) {
  std::vector<std::string> keys;
  for (const run::RunRecord& run : runs) {
    run::add_names(run.settings, keys);
  }
  return keys;
}

// Most keys are under "options" in config.json; the others keep the name of their section.
std::string heading_of(const std::string& key) {
  constexpr std::string_view kPart = "options.";
  return page::escape_html(key.starts_with(kPart) ? key.substr(kPart.size()) : key);
}

bool is_shared(const std::vector<run::RunRecord>& runs, const std::string& key) {
  return std::all_of(runs.begin(), runs.end(), [&](const run::RunRecord& run) {
    return value_of(run, key) != kNoValue && value_of(run, key) == value_of(runs.front(), key);
  });
}

std::string differences_table(const std::vector<run::RunRecord>& runs,
                              const std::vector<std::string>& keys) {
  std::string table = "<table id=\"differences\"><thead><tr><th>run</th>";
  for (const std::string& key : keys) {
    table += "<th>" + heading_of(key) + "</th>";
  }
  table += "</tr></thead><tbody>\n";
  for (const run::RunRecord& run : runs) {
    table += "<tr>" + cell(run.name);
    for (const std::string& key : keys) {
      table += cell(value_of(run, key));
    }
    table += "</tr>\n";
  }
  return "<div class=\"wide\">" + table + "</tbody></table></div>\n";
}

}  // namespace

std::string results_table(const std::vector<run::RunRecord>& runs,
                          const std::vector<std::string>& styles) {
  const std::string score = score_name(runs);
  const std::vector<std::string> others = other_scores(runs);
  std::vector<std::string> headings = {
      "run",          "optimizer",      "learning rate", "seed",      "status",
      "evaluated on", "final " + score, "best " + score, "final loss"};
  headings.insert(headings.end(), others.begin(), others.end());
  headings.insert(headings.end(), {"steps", unit_of(runs) + "/s", "time"});
  std::string table = "<div class=\"wide\"><table id=\"results\"><thead><tr>";
  for (const std::string& heading : headings) {
    table += "<th>" + page::escape_html(heading) + "</th>";
  }
  table += "</tr></thead><tbody>\n";
  for (std::size_t at = 0; at < runs.size(); ++at) {
    table += result_row(runs[at], styles[at], others);
  }
  return table + "</tbody></table></div>\n";
}

std::string options_tables(const std::vector<run::RunRecord>& runs) {
  std::vector<std::string> shared = keys_of(runs);
  const auto split = std::stable_partition(
      shared.begin(), shared.end(), [&](const std::string& key) { return is_shared(runs, key); });
  const std::vector<std::string> different(split, shared.end());
  shared.erase(split, shared.end());
  std::string tables;
  if (!different.empty()) {
    tables += differences_table(runs, different);
  }
  tables += runs.size() > 1 ? "<details><summary>The same in all runs</summary>" : "<div>";
  tables += "<table id=\"shared\"><tbody>\n";
  for (const std::string& key : shared) {
    tables += "<tr><th>" + heading_of(key) + "</th>" + cell(value_of(runs.front(), key));
    tables += "</tr>\n";
  }
  return tables + "</tbody></table>" + (runs.size() > 1 ? "</details>\n" : "</div>\n");
}

}  // namespace sing::lab::report
