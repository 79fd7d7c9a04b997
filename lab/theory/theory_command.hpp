// `sing theory`: tries the claims of the theory and says which hold.
#pragma once

#include <CLI/CLI.hpp>

#include "lab/cli/program.hpp"

namespace sing::theory {

void add_theory_command(CLI::App& app, lab::Session& session);

}  // namespace sing::theory
