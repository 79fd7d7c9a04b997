// One line a command.
#include "lab/cli/commands.hpp"

#include "lab/cifar100/cifar100_files.hpp"
#include "lab/compare/compare_command.hpp"
#include "lab/image/official_command.hpp"
#include "lab/image/pack_command.hpp"
#include "lab/mnist/mnist_files.hpp"
#include "lab/rde/data_command.hpp"
#include "lab/report/report_command.hpp"
#include "lab/reproduce/reproduce_command.hpp"
#include "lab/theory/theory_command.hpp"
#include "lab/tune/tune_command.hpp"

namespace sing::lab {

void add_commands(CLI::App& app, Session& session) {
  CLI::App* const data = app.add_subcommand("data", "Write, show or check a task's data");
  data->require_subcommand(1);
  rde::add_data_command(*data, session);
  image::add_official_command(*data, session, cifar100::official_set());
  image::add_official_command(*data, session, mnist::official_set());
  image::add_pack_command(*data, session);
  compare::add_compare_command(app, session);
  tune::add_tune_command(app, session);
  reproduce::add_reproduce_command(app, session);
  report::add_report_command(app, session);
  theory::add_theory_command(app, session);
}

}  // namespace sing::lab
