// Lists the commands that need no LibTorch.
#include "lab/main/commands.hpp"

namespace sing::lab::main {

void add_commands(CLI::App& app, CommandContext& context) {
  CLI::App* const data = app.add_subcommand("data", "Write, show or check a task's data");
  data->require_subcommand(1);
  add_rde_data_command(*data, context);
  add_official_data_commands(*data, context);
  add_pack_data_command(*data, context);
  add_compare_command(app, context);
  add_tune_command(app, context);
  add_reproduce_command(app, context);
  add_report_command(app, context);
  add_theory_command(app, context);
}

}  // namespace sing::lab::main
