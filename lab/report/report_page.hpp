// Makes the report: one self-contained page about one or many runs.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "lab/run/run_record.hpp"

namespace sing::lab::report {

// The page needs only a browser: no other files, no network. `summary` is HTML that is placed
// before the results. Throws std::invalid_argument if there are no runs.
std::string report_page(const std::vector<run::RunRecord>& runs, const std::string& summary = "");

// Replaces `path` atomically. Throws FileError; an old file is then unchanged.
void write_report(const std::filesystem::path& path, const std::vector<run::RunRecord>& runs,
                  const std::string& summary = "");

// Writes the page about those of the directories that hold a run, and prints its path on `out`. A
// run that failed before its first record has nothing to show; if there is no other run, no page is
// written.
void write_report_of(const std::filesystem::path& path,
                     const std::vector<std::filesystem::path>& directories,
                     const std::string& summary, std::ostream& out);

}  // namespace sing::lab::report
