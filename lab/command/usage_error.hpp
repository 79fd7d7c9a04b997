// Describes what is wrong with a command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace sing::lab::command {

// Throws std::invalid_argument for the first word that names no command of the one before it. Words
// from the first flag on are not looked at.
void check_commands(const CLI::App& app, const std::vector<std::string>& words);

// After `app` failed to parse `words`, returns what was wanted and what was given, with the nearest
// known name for a misspelled one.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error,
                        const std::vector<std::string>& words);

}  // namespace sing::lab::command
