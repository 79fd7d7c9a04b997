// Runs the trainings of a comparison one after the other, and goes on where an earlier call
// stopped.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "lab/compare/grid.hpp"
#include "lab/compare/result_table.hpp"

namespace sing::compare {

// Beside every run directory `folder`/NAME there are NAME.command, what it was started with, and
// NAME.log, what it printed.
struct Place {
  std::filesystem::path folder;
  std::filesystem::path program;  // called as `sing` would be
  bool terminal = false;          // the output is one: a live line shows the run's last words
};

struct Comparison {
  std::vector<Result> results;  // of the cells up to where it stopped
  bool stopped = false;
  std::vector<std::string> failures;  // names of the runs
};

// A finished or diverged run is kept, an unfinished one resumed; one line on `out` for each.
// `stop` is asked as run_child does; the run under way then gets time to save. Throws FileError,
// before anything is started, if the folder holds a run of the same name with other flags.
Comparison run_comparison(const std::vector<Cell>& cells,
                          const Place& place,
                          std::ostream& out,
                          const std::function<bool()>& stop);

// The last line of a file that is not empty; empty if there is none. Looks at the last 4 KiB.
std::string last_line(const std::filesystem::path& path);

}  // namespace sing::compare
