// Finds what each row needs, then trains one seed after the other.
#include "lab/reproduce/reproduction.hpp"

#include <algorithm>
#include <ostream>

#include "lab/command/option_texts.hpp"
#include "lab/run/named_values.hpp"
#include "sing/base/message.hpp"
#include "sing/optim/named_options.hpp"

namespace sing::lab::reproduce {
namespace {

std::filesystem::path recipe_path(const PaperRow& row, const ReproductionRequest& request) {
  return request.recipes / fmt::format("{}.toml", row.recipe);
}

std::string optimizer_of(const std::filesystem::path& recipe) {
  const std::string optimizer =
      run::value_of(command::read_option_file(recipe), "optimizer", std::string());
  SING_CHECK(!optimizer.empty(), "[{}] wanted a line 'optimizer = …', got none", recipe.string());
  return optimizer;
}

std::string missing_of(const PaperTable& table, const PaperRow& row,
                       const ReproductionRequest& request) {
  const std::string task = table.task_of(row);
  if (request.knows_tasks && !request.tasks.contains(task)) {
    return fmt::format("this program has no task {}", task);
  }
  const std::string optimizer = optimizer_of(recipe_path(row, request));
  const std::vector<std::string> known = optimizer_names();
  return std::find(known.begin(), known.end(), optimizer) == known.end()
             ? fmt::format("this program has no optimizer {}", optimizer)
             : "";
}

compare::Cell cell_of(const PaperTable& table, const PaperRow& row,
                      const ReproductionRequest& request, std::int64_t seed) {
  compare::Cell cell{.contestant = row.recipe, .seed = seed};
  cell.name = fmt::format("{}_seed{}", row.recipe, seed);
  const char* const task = table.task_of(row);
  cell.arguments = {"train", task, "--config", recipe_path(row, request).string()};
  for (const auto& flags :
       {flags_of(task, request).flags, {"--seed", std::to_string(seed)}, request.train_flags}) {
    cell.arguments.insert(cell.arguments.end(), flags.begin(), flags.end());
  }
  return cell;
}

}  // namespace

ScaleFlags flags_of(std::string_view task, const ReproductionRequest& request) {
  const std::vector<std::string>& given = request.train_flags;
  const std::optional<std::string> data = compare::flag_value(given, "--data");
  return without_given(
      scale_flags(request.scale, task, data ? std::filesystem::path(*data) : default_data(task)),
      given);
}

std::string notice_of(const PaperTable& table, const ReproductionRequest& request) {
  std::vector<std::string> notices;
  for (const PaperRow& row : table.rows) {
    std::string notice = flags_of(table.task_of(row), request).notice;
    if (!notice.empty() && std::find(notices.begin(), notices.end(), notice) == notices.end()) {
      notices.push_back(std::move(notice));
    }
  }
  return fmt::format("{}", fmt::join(notices, "\n"));
}

std::vector<RowState> row_states(const PaperTable& table, const ReproductionRequest& request,
                                 const compare::Workplace& place) {
  std::vector<RowState> states;
  for (const PaperRow& row : table.rows) {
    RowState state{.row = &row, .missing = missing_of(table, row, request)};
    for (std::int64_t seed = 0; seed < request.seeds && state.missing.empty(); ++seed) {
      state.cells.push_back(cell_of(table, row, request, seed));
      if (const auto result = compare::result_of(state.cells.back(), place)) {
        state.results.push_back(*result);
      }
    }
    states.push_back(std::move(state));
  }
  return states;
}

Reproduction run_reproduction(const PaperTable& table, const ReproductionRequest& request,
                              const compare::Workplace& place, std::ostream& out,
                              const std::function<bool()>& stop) {
  Reproduction reproduction{.rows = row_states(table, request, place)};
  std::vector<compare::Cell> queue;
  std::vector<RowState*> rows;  // one per run of the queue
  for (std::size_t seed = 0; seed < static_cast<std::size_t>(request.seeds); ++seed) {
    for (RowState& state : reproduction.rows) {
      if (seed < state.cells.size()) {
        queue.push_back(state.cells[seed]);
        rows.push_back(&state);
      }
    }
  }
  for (RowState& state : reproduction.rows) {
    if (!state.missing.empty()) {
      out << "left out: " << state.row->name << ": " << state.missing << '\n';
    }
    compare::check_commands(state.cells, place);
    state.results.clear();
  }
  compare::CellRunner runner(place, out, stop, queue.size());
  const std::vector<std::optional<compare::Result>> results = runner.run(queue);
  for (std::size_t at = 0; at < queue.size(); ++at) {
    if (results[at]) {
      rows[at]->results.push_back(*results[at]);
    }
  }
  reproduction.stopped = stop();
  reproduction.failures = runner.failures();
  return reproduction;
}

}  // namespace sing::lab::reproduce
