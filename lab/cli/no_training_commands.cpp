// Stands in for training_commands.cpp in a program without LibTorch.
#include "lab/cli/training_commands.hpp"
#include "sing/base/message.hpp"

namespace sing::lab {

void add_training_commands(CLI::App& app, Session& session) {
  for (const char* name : {"train", "eval"}) {
    CLI::App* const command = app.add_subcommand(name, "Needs LibTorch, which this program lacks");
    command->allow_extras();
    command->callback([name, &session] {
      session.chosen = [name] {
        throw Error(fmt::format("[sing {}] wanted a program built with -DSING_TORCH=ON", name));
      };
    });
  }
}

}  // namespace sing::lab
