// `sing tune`: learning rate and weight decay by a protocol.
#pragma once

#include <CLI/CLI.hpp>

#include "lab/cli/program.hpp"

namespace sing::tune {

void add_tune_command(CLI::App& app, lab::Session& session);

}  // namespace sing::tune
