// The commands that need LibTorch: train and eval. A program built without it has them too; there
// they say so.
#pragma once

#include <CLI/CLI.hpp>

#include "lab/cli/program.hpp"

namespace sing::lab {

void add_training_commands(CLI::App& app, Session& session);

}  // namespace sing::lab
