// Lists the commands that need LibTorch.
#include "lab/main/commands.hpp"

namespace sing::lab::main {

void add_training_commands(CLI::App& app, CommandContext& context) {
  add_train_command(app, context);
  add_eval_command(app, context);
  add_bench_command(app, context);
}

}  // namespace sing::lab::main
