// Runs the trainings of a comparison one after the other, and goes on where an earlier call
// stopped.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <optional>
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

// Who is told of a run, and what stands before its words. `stop` is asked as run_child does; the
// run under way then gets time to save.
struct Watch {
  std::ostream& out;
  std::string which;
  const std::function<bool()>& stop;
};

// Throws FileError if the folder holds a run of the same name that was started with other flags.
void check_commands(const std::vector<Cell>& cells, const Place& place);

// What the run directory says, if the run has ended: no program's exit code is needed to know it.
std::optional<Result> result_of(const Cell& cell, const Place& place);

// Keeps a finished or diverged run, resumes an unfinished one; one line for it. None if it was
// interrupted.
std::optional<Result> run_cell(const Cell& cell, const Place& place, const Watch& watch);

struct Comparison {
  std::vector<Result> results;  // of the cells up to where it stopped
  bool stopped = false;
  std::vector<std::string> failures;  // names of the runs
};

// run_cell for each. Throws as check_commands does, before anything is started.
Comparison run_comparison(const std::vector<Cell>& cells,
                          const Place& place,
                          std::ostream& out,
                          const std::function<bool()>& stop);

// The last line of a file that is not empty; empty if there is none. Looks at the last 4 KiB.
std::string last_line(const std::filesystem::path& path);

}  // namespace sing::compare
