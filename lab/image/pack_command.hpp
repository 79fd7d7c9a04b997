// The command `sing data pack`.
#pragma once

#include <CLI/CLI.hpp>

#include "lab/cli/program.hpp"

namespace sing::image {

void add_pack_command(CLI::App& data, lab::Session& session);

}  // namespace sing::image
