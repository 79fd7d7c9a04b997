// The report: one page about one or many runs, with everything it shows inside.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lab/report/run_record.hpp"

namespace sing::report {

// Needs nothing but a browser: no file beside it, no network. Throws std::invalid_argument if
// there are no runs.
std::string report_page(const std::vector<RunRecord>& runs);

// Replaces `path` as a whole; throws FileError, and then an old file is untouched.
void write_report(const std::filesystem::path& path, const std::vector<RunRecord>& runs);

}  // namespace sing::report
