// Declares the options of a run that is resumed and trained for longer than it was started for.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <vector>

#include "lab/run/run_config.hpp"

namespace sing::lab::loop {

// Returns the flags of the length, --epochs and --steps, that the command line sets to another
// value than the run has.
std::vector<std::string> changed_lengths(const CLI::App& command, const run::RecordedConfig& run);

// Returns the options of the run without those that give way to the changed lengths: a number of
// steps to a number of epochs, and the schedule's steps where they followed from the old length.
command::OptionTexts options_for_length(const run::RecordedConfig& run,
                                        const std::vector<std::string>& changed);

// Returns the steps of the warm-up if they are not given.
std::int64_t automatic_warmup(double fraction, std::int64_t total_steps);

}  // namespace sing::lab::loop
