// Says what is wrong with a command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace sing::lab::command {

// After a failed parse of `app`: an unknown word with the nearest known one, else what CLI11 says.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace sing::lab::command
