// The commands `sing data cifar100` and `sing data mnist`: are these the official files?
#pragma once

#include <CLI/CLI.hpp>

#include "lab/cli/program.hpp"
#include "lab/image/official_files.hpp"

namespace sing::image {

void add_official_command(CLI::App& data, lab::Session& session, const OfficialSet& set);

}  // namespace sing::image
