// The command `sing data rde`.
#pragma once

#include <CLI/CLI.hpp>

#include "lab/cli/program.hpp"

namespace sing::rde {

void add_data_command(CLI::App& data, lab::Session& session);

}  // namespace sing::rde
