// What a tuning leaves: tune.json, a table for the terminal, a heat map for the report.
#pragma once

#include <filesystem>
#include <string>

#include "lab/tune/tuning.hpp"

namespace sing::lab::tune {

// Refuses a folder whose tune.json is of another task, optimizer, seed or the like, since it would
// be written over. Throws std::invalid_argument.
void check_record(const TuningRequest& request, const std::filesystem::path& folder);

// tune.json in `folder`, as a whole. Throws FileError.
void write_record(const TuningRequest& request, const Tuning& tuning,
                  const std::filesystem::path& folder);

// A line a trial, by learning rate and weight decay.
std::string text_of(const Tuning& tuning);

// Section of the report: final accuracy, of no task that has none the final loss, for each rate and
// decay; of several trainings of one setting the longest.
std::string section_of(const TuningRequest& request, const Tuning& tuning);

}  // namespace sing::lab::tune
