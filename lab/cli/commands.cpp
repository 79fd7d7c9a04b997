// One line a command.
#include "lab/cli/commands.hpp"

#include "lab/compare/compare_command.hpp"
#include "lab/rde/data_command.hpp"
#include "lab/report/report_command.hpp"
#include "lab/reproduce/reproduce_command.hpp"
#include "lab/tune/tune_command.hpp"

namespace sing::lab {

void add_commands(CLI::App& app, Session& session) {
  CLI::App* const data = app.add_subcommand("data", "Write, show or check a task's data");
  data->require_subcommand(1);
  rde::add_data_command(*data, session);
  compare::add_compare_command(app, session);
  tune::add_tune_command(app, session);
  reproduce::add_reproduce_command(app, session);
  report::add_report_command(app, session);
}

}  // namespace sing::lab
