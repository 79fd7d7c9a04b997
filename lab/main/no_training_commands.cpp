// Replaces training_commands.cpp in a program without LibTorch.
#include "lab/main/commands.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::main {

void add_training_commands(CLI::App& app, CommandContext& context) {
  for (const char* name : {"train", "eval", "bench"}) {
    CLI::App* const command = app.add_subcommand(name, "Needs LibTorch, which this program lacks");
    command->allow_extras();
    command->callback([name, &context] {
      context.chosen = [name] {
        throw Error(fmt::format("[sing {}] wanted a program built with -DSING_TORCH=ON", name));
      };
    });
  }
}

}  // namespace sing::lab::main
