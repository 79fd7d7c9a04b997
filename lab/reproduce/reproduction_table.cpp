// Writes one table as text and as HTML.
#include "lab/reproduce/reproduction_table.hpp"

#include <algorithm>

#include "lab/command/text_table.hpp"
#include "lab/page/html_text.hpp"
#include "lab/page/text_grid.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::reproduce {
namespace {

using Lines = std::vector<std::vector<std::string>>;

constexpr const char* kPaperColumn = "paper";

std::string joined(const std::string& one, const std::string& other) {
  return one.empty() || other.empty() ? one + other : one + "; " + other;
}

std::string remark_of(const RowState& state, const compare::Row& ours) {
  std::string text = state.missing;
  const std::int64_t runs = ours.finished + ours.diverged + ours.failed;
  if (ours.diverged > 0) {
    text = joined(text, fmt::format("{} of {} diverged", ours.diverged, runs));
  }
  if (ours.failed > 0) {
    text = joined(text, fmt::format("{} of {} failed", ours.failed, runs));
  }
  return joined(text, state.row->remark);
}

// Removes the columns in which the paper has no figures.
void drop_empty_columns(Lines& lines) {
  for (std::size_t column = lines.front().size(); column-- > 0;) {
    const bool is_empty = std::all_of(lines.begin() + 1, lines.end(), [&](const auto& line) {
      return line[column] == page::short_number(run::kAbsent);
    });
    if (lines.front()[column] == kPaperColumn && is_empty) {
      for (std::vector<std::string>& line : lines) {
        line.erase(line.begin() + static_cast<std::ptrdiff_t>(column));
      }
    }
  }
}

std::vector<compare::Result> results_of(const std::vector<RowState>& rows) {
  std::vector<compare::Result> results;
  for (const RowState& state : rows) {
    results.insert(results.end(), state.results.begin(), state.results.end());
  }
  return results;
}

Lines lines_of(const std::vector<RowState>& rows) {
  const std::string score = compare::score_column(compare::rows_of(results_of(rows)));
  Lines lines = {
      {"", "runs", score.empty() ? run::kAccuracy : score, kPaperColumn, "loss", kPaperColumn, ""}};
  for (const RowState& state : rows) {
    const PaperRow& paper = *state.row;
    const compare::Row ours =
        state.results.empty() ? compare::Row{} : compare::rows_of(state.results).front();
    lines.push_back(
        {paper.name, std::to_string(ours.finished), compare::accuracy_text(ours.accuracy),
         compare::accuracy_text({paper.accuracy / 100, paper.spread / 100}),
         compare::number_text(ours.loss), page::short_number(paper.loss), remark_of(state, ours)});
  }
  drop_empty_columns(lines);
  return lines;
}

std::string progress(const RowState& state) {
  if (!state.missing.empty()) {
    return state.missing;
  }
  if (state.results.size() == state.cells.size()) {
    return fmt::format("done, {}{}", state.cells.size(),
                       state.cells.size() == 1 ? " run" : " runs");
  }
  return state.results.empty()
             ? "not done"
             : fmt::format("{} of {} runs done", state.results.size(), state.cells.size());
}

}  // namespace

std::string text_of(const std::vector<RowState>& rows) {
  return command::text_table(lines_of(rows)) +
         compare::runs_note(compare::rows_of(results_of(rows))) + "\n";
}

std::string section_of(const PaperTable& table, const std::vector<RowState>& rows,
                       const std::string& notice) {
  std::string section = "<section id=\"reproduction\"><h2>";
  section += page::escape_html(table.title) + "</h2>\n";
  if (!notice.empty()) {
    section += "<p class=\"note\">" + page::escape_html(notice) + "</p>\n";
  }
  return section + page::text_grid("paper", lines_of(rows)) + "</section>\n";
}

std::string list_text(const PaperTable& table, const std::vector<RowState>& rows) {
  Lines lines;
  for (const RowState& state : rows) {
    lines.push_back({fmt::format("  {}", state.row->name), state.row->recipe, progress(state)});
  }
  return fmt::format("{}: {}\n", table.name, table.title) + command::text_table(lines);
}

}  // namespace sing::lab::reproduce
