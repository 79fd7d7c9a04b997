// The command `sing train`.
#pragma once

#include <CLI/CLI.hpp>

#include "lab/cli/program.hpp"

namespace sing::lab {

void add_train_command(CLI::App& app, Session& session);

}  // namespace sing::lab
