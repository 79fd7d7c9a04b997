// The list of the program's commands.
#pragma once

#include <CLI/CLI.hpp>

#include "lab/cli/program.hpp"

namespace sing::lab {

void add_commands(CLI::App& app, Session& session);

}  // namespace sing::lab
