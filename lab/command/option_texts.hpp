// Reads and applies options that come from a file or an earlier run instead of the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sing::lab::command {

// Names of options with their values as written on a command line.
using OptionTexts = std::vector<std::pair<std::string, std::string>>;

// Reads the options of a TOML or INI file without sections, such as `learning_rate = 0.05`; names
// may also use dashes. Throws std::invalid_argument.
OptionTexts read_option_file(const std::filesystem::path& path);

// Sets the options that the command line did not. Throws std::invalid_argument for a name that the
// command does not have.
void apply_options(CLI::App& command, const OptionTexts& options, std::string_view where);

// Returns a message about the first given flag that contradicts a recorded option, or "".
std::string first_contradiction(const CLI::App& command, const OptionTexts& recorded);

}  // namespace sing::lab::command
