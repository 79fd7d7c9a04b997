// Writes the results of a tuning: tune.json, a table for the terminal, a heat map for the report.
#pragma once

#include <filesystem>
#include <string>

#include "lab/tune/tuning.hpp"

namespace sing::lab::tune {

// Refuses a folder whose tune.json belongs to a tuning of another task, optimizer, seed and so on,
// because it would be overwritten. Throws std::invalid_argument.
void check_record(const TuningRequest& request, const std::filesystem::path& folder);

// Replaces tune.json in `folder`. Throws FileError.
void write_record(const TuningRequest& request, const Tuning& tuning,
                  const std::filesystem::path& folder);

// Returns one line per trial, sorted by learning rate and weight decay.
std::string text_of(const TuningRequest& request, const Tuning& tuning);

// Returns the report's section: the final accuracy for each rate and decay, or the final loss if
// the task has no accuracy. If a setting was trained several times, the longest training counts.
std::string section_of(const TuningRequest& request, const Tuning& tuning);

}  // namespace sing::lab::tune
