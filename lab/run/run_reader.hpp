// Reads run directories.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "lab/run/run_record.hpp"

namespace sing::lab::run {

// Lines that are not records, such as one cut off by a crash, are counted and left out. If a
// training was resumed from an earlier step, some steps were written twice, and the later line
// counts. Throws FileError if `directory` is not a run directory or holds another program's files.
RunRecord read_run(const std::filesystem::path& directory);

// Each path is a run directory or a folder of run directories. A run that is named twice is read
// once. Runs with equal names get as much of their paths as distinguishes them. Throws FileError
// like read_run.
std::vector<RunRecord> read_runs(std::span<const std::filesystem::path> paths);

}  // namespace sing::lab::run
