// Reads the grid, has it trained, prints the table and writes the report.
#include "lab/compare/compare_command.hpp"

#include <unistd.h>

#include <iostream>
#include <memory>

#include "lab/compare/child_process.hpp"
#include "lab/compare/comparison.hpp"
#include "lab/loop/stop_signal.hpp"
#include "lab/optimizer/named_optimizer.hpp"
#include "lab/report/report_page.hpp"
#include "sing/base/message.hpp"

namespace sing::compare {
namespace {

struct Request {
  GridText grid{.seeds = {0}};
  std::string out;
  std::string program;
};

std::vector<std::filesystem::path> directories_of(const std::vector<Cell>& cells,
                                                  const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> directories;
  for (const Cell& cell : cells) {
    directories.push_back(folder / cell.name);
  }
  return directories;
}

// Before anything is trained, a name that only the last training would refuse; another program may
// know other names.
void check_optimizers(const Request& request) {
  if (!request.program.empty()) {
    return;
  }
  for (const Contestant& contestant : contestants_of(request.grid)) {
    lab::make_optimizer_options(contestant.flags.at(1));
  }
}

void run(const Request& request, lab::Session& session) {
  const std::vector<Cell> cells = cells_of(request.grid);
  check_optimizers(request);
  const bool terminal = &session.out == &std::cout && ::isatty(STDOUT_FILENO) == 1;
  const Place place{
      .folder =
          request.out.empty() ? fmt::format("runs/compare_{}", request.grid.task) : request.out,
      .program = request.program.empty() ? own_program() : std::filesystem::path(request.program),
      .terminal = terminal};
  Comparison comparison;
  {
    const lab::StopSignal signal;
    comparison = run_comparison(cells, place, session.out, [&] { return signal.requested(); });
  }
  session.out << '\n' << text_of(rows_of(comparison.results));
  report::write_report_of(place.folder / "report.html", directories_of(cells, place.folder), "",
                          session.out);
  if (comparison.stopped) {
    session.out << "interrupted; the same command goes on from here\n";
    session.exit_code = lab::kInterruptedExit;
  } else if (!comparison.failures.empty()) {
    throw Error(
        fmt::format("[sing compare] wanted a result of each of {} runs, {} failed, the first: {}",
                    cells.size(), comparison.failures.size(), comparison.failures.front()));
  }
}

}  // namespace

void add_compare_command(CLI::App& app, lab::Session& session) {
  CLI::App* const command = app.add_subcommand(
      "compare", "Train with several optimizers, learning rates and seeds, and tabulate");
  const auto request = std::make_shared<Request>();
  GridText& grid = request->grid;
  command->add_option("TASK", grid.task, "what to train, as for sing train")
      ->required()
      ->type_name("");
  // One word each: a list that goes on would take TASK or the -- after it.
  command->add_option("--optimizers", grid.optimizers, "names, as for sing train --optimizer")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,…");
  command
      ->add_option("--variant", grid.variants,
                   "an optimizer with flags of its own, under a name of its own; may come again")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("'NAME=OPTIMIZER FLAGS…'");
  command
      ->add_option("--learning-rates", grid.learning_rates,
                   "A,B,… for all, NAME=A,B,… for one; without it each optimizer's own")
      ->type_name("LIST…");
  command->add_option("--seeds", grid.seeds, "a run for each")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("INTEGER,…")
      ->capture_default_str();
  command->add_option("--out", request->out, "folder of the runs; without it runs/compare_TASK")
      ->type_name("FOLDER");
  command->add_option("--program", request->program, "trains instead of this program")
      ->type_name("FILE");
  command->add_option("FLAGS", grid.train_flags, "after --: flags for every sing train")
      ->type_name("");
  command->callback(
      [request, &session] { session.chosen = [request, &session] { run(*request, session); }; });
}

}  // namespace sing::compare
