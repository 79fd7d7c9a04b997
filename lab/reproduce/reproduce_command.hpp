// `sing reproduce`: the paper's tables from their recipes.
#pragma once

#include <CLI/CLI.hpp>

#include "lab/cli/program.hpp"

namespace sing::reproduce {

void add_reproduce_command(CLI::App& app, lab::Session& session);

}  // namespace sing::reproduce
