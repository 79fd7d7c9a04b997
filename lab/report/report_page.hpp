// The report: one page about one or many runs, with everything it shows inside.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "lab/run/run_record.hpp"

namespace sing::lab::report {

// Needs nothing but a browser: no file beside it, no network. `summary`, HTML, stands before the
// results. Throws std::invalid_argument if there are no runs.
std::string report_page(const std::vector<run::RunRecord>& runs, const std::string& summary = "");

// Replaces `path` as a whole; throws FileError, and then an old file is untouched.
void write_report(const std::filesystem::path& path, const std::vector<run::RunRecord>& runs,
                  const std::string& summary = "");

// The page about those of the directories that hold a run; says on `out` where it is. A run that
// failed before its first record has nothing to show; without any other there is no page.
void write_report_of(const std::filesystem::path& path,
                     const std::vector<std::filesystem::path>& directories,
                     const std::string& summary, std::ostream& out);

}  // namespace sing::lab::report
