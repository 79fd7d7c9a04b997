// One line a command.
#include "lab/cli/training_commands.hpp"

#include "lab/bench/bench_command.hpp"
#include "lab/cli/eval_command.hpp"
#include "lab/cli/train_command.hpp"

namespace sing::lab {

void add_training_commands(CLI::App& app, Session& session) {
  add_train_command(app, session);
  add_eval_command(app, session);
  add_bench_command(app, session);
}

}  // namespace sing::lab
