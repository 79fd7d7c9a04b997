// `sing report`: writes the page about runs.
#pragma once

#include <CLI/CLI.hpp>

#include "lab/cli/program.hpp"

namespace sing::report {

void add_report_command(CLI::App& app, lab::Session& session);

}  // namespace sing::report
