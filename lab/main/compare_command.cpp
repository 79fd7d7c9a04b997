// Reads the grid, trains it, prints the table and writes the report.
#include <functional>
#include <memory>

#include "lab/command/field_flags.hpp"
#include "lab/command/stop_signal.hpp"
#include "lab/compare/comparison.hpp"
#include "lab/compare/comparison_section.hpp"
#include "lab/main/commands.hpp"
#include "lab/main/run_flags.hpp"
#include "lab/optimizer/named_optimizer.hpp"
#include "lab/report/report_page.hpp"
#include "lab/run/run_directory.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::main {
namespace {

struct CompareFlags {
  compare::GridText grid{.seeds = {0}};
  RunFlags runs;
};

std::vector<std::filesystem::path> directories_of(const std::vector<compare::Cell>& cells,
                                                  const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> directories;
  for (const compare::Cell& cell : cells) {
    directories.push_back(folder / cell.name);
  }
  return directories;
}

// Returns a check of the words of a list.
std::function<void(const std::string&)> not_empty(const char* flag) {
  return [flag](const std::string& text) {
    SING_CHECK(!text.empty(), "[{}] wanted a list with commas, got ''", flag);
  };
}

// Reports unknown names before anything is trained. Another program may know other names.
void check_names(const CompareFlags& flags) {
  if (flags.runs.has_other_program()) {
    return;
  }
  flags.runs.check_task(flags.grid.task, "[sing compare] ");
  for (const compare::Contestant& contestant : compare::contestants_of(flags.grid)) {
    optimizer::make_optimizer_options(contestant.flags.at(1));
  }
}

void run(const CompareFlags& flags, CommandContext& context) {
  const std::vector<compare::Cell> cells = compare::cells_of(flags.grid);
  check_names(flags);
  const compare::Workplace place =
      flags.runs.place(fmt::format("runs/compare_{}", flags.grid.task), context);
  compare::Comparison comparison;
  {
    const command::StopSignal signal;
    comparison =
        compare::run_comparison(cells, place, context.out, [&] { return signal.requested(); });
  }
  const std::vector<compare::Row> rows = compare::rows_of(comparison.results);
  context.out << '\n' << text_of(rows);
  report::write_report_of(place.folder / run::kReportFile, directories_of(cells, place.folder),
                          compare::comparison_section(rows), context.out);
  if (comparison.stopped) {
    end_interrupted(context);
  } else if (!comparison.failures.empty()) {
    throw Error(fmt::format(
        "[sing compare] wanted a result of each of {} runs, got {} that failed, the first: {}",
        cells.size(), comparison.failures.size(), comparison.failures.front()));
  }
}

}  // namespace

void add_compare_command(CLI::App& app, CommandContext& context) {
  CLI::App* const command = app.add_subcommand(
      "compare", "Train with several optimizers, learning rates and seeds, and print a table");
  const auto flags = std::make_shared<CompareFlags>();
  compare::GridText& grid = flags->grid;
  command->add_option("TASK", grid.task, "task, as for sing train")->required()->type_name("");
  // Each list is one word; a longer list would take TASK or the -- after it.
  command
      ->add_option("--optimizers", grid.optimizers,
                   "names of optimizers, as for sing train --optimizer")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->each(not_empty("--optimizers"))
      ->type_name("NAME,…");
  command
      ->add_option("--variant", grid.variants,
                   "an optimizer with its own flags, under its own name; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("'NAME=OPTIMIZER FLAGS…'");
  command
      ->add_option("--learning-rates", grid.learning_rates,
                   "A,B,… for all, NAME=A,B,… for one; default: each optimizer's own")
      ->each(not_empty("--learning-rates"))
      ->type_name("LIST…");
  command
      ->add_option_function<std::vector<std::string>>(
          "--seeds",
          [&grid](const std::vector<std::string>& texts) {
            grid.seeds.assign(texts.size(), 0);
            for (std::size_t at = 0; at < texts.size(); ++at) {
              assign(grid.seeds[at], command::value_of_text(texts[at]), "--seeds");
            }
          },
          "one run for each")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("INTEGER,…")
      ->default_str("0");
  flags->runs.add_to(*command, app, "runs/compare_TASK", grid.train_flags);
  command->callback(
      [flags, &context] { context.chosen = [flags, &context] { run(*flags, context); }; });
}

}  // namespace sing::lab::main
