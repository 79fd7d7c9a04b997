// `sing compare`: several optimizers, learning rates and seeds on one task.
#pragma once

#include <CLI/CLI.hpp>

#include "lab/cli/program.hpp"

namespace sing::compare {

void add_compare_command(CLI::App& app, lab::Session& session);

}  // namespace sing::compare
