// `sing bench`: what an optimizer step and a training step cost here, beside torch's optimizers.
#pragma once

#include <CLI/CLI.hpp>

#include "lab/cli/program.hpp"

namespace sing::lab {

void add_bench_command(CLI::App& app, Session& session);

}  // namespace sing::lab
