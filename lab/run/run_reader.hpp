// Reads run directories.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "lab/run/run_record.hpp"

namespace sing::lab::run {

// Lines that are no record, such as one that a crash cut off, are counted and left out. A training
// that was resumed from an earlier step wrote some steps twice: the later line counts. Throws
// FileError if `directory` is no run directory or holds another program's files.
RunRecord read_run(const std::filesystem::path& directory);

// Each path is a run directory, or a folder whose folders are run directories; a run that is named
// twice is read once. Runs of equal names get as much of their paths as distinguishes them. Throws
// FileError as read_run does.
std::vector<RunRecord> read_runs(std::span<const std::filesystem::path> paths);

}  // namespace sing::lab::run
