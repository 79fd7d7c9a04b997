// Options of a command that do not come from the command line: from a file, or from an earlier run.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sing::lab::command {

// Options by name as a command line would give them.
using OptionTexts = std::vector<std::pair<std::string, std::string>>;

// The options of a TOML or INI file without sections, `learning_rate = 0.05` or with dashes.
// Throws std::invalid_argument.
OptionTexts read_option_file(const std::filesystem::path& path);

// Sets the options that the command line did not. Throws std::invalid_argument for a name that the
// command does not have.
void apply_options(CLI::App& command, const OptionTexts& options, std::string_view where);

// The flags given that a recorded option contradicts: the first of them as a message, or "".
std::string first_contradiction(const CLI::App& command, const OptionTexts& recorded);

}  // namespace sing::lab::command
