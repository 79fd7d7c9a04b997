// Trains one run after the other in child processes, and goes on where an earlier call stopped.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "lab/compare/child_process.hpp"
#include "lab/compare/grid.hpp"
#include "lab/compare/result_table.hpp"

namespace sing::lab::compare {

// Where runs are trained and by which program. Next to each run directory `folder`/NAME there are
// NAME.command, the arguments that it was started with, and NAME.log, what it printed.
struct Workplace {
  std::filesystem::path folder;
  std::filesystem::path program;  // called as `sing` would be
  bool terminal = false;          // the output is one: a live line shows the run's last words
};

// Throws FileError if the folder holds a run of the same name that was started with other flags.
void check_commands(const std::vector<Cell>& cells, const Workplace& place);

// What the run directory says, if the run has ended: no program's exit code is needed to know it.
std::optional<Result> result_of(const Cell& cell, const Workplace& place);

// The last line of a file that is not empty; empty if there is none. Looks at the last 4 KiB.
std::string last_line(const std::filesystem::path& path);

// Says a line of every run. `stop` is asked as run_child does; the run under way then gets time to
// save. The arguments must outlive the runner.
class CellRunner {
 public:
  // `total`: how many runs there will be, if that is known.
  CellRunner(const Workplace& place, std::ostream& out, const std::function<bool()>& stop,
             std::optional<std::size_t> total = {});

  // Keeps a finished or diverged run, resumes an unfinished one. None if it was interrupted.
  std::optional<Result> run(const Cell& cell);

  // Names of the runs that ended without a result.
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  ChildEnd train(const Cell& cell, const std::string& which) const;
  void say_failure(const Cell& cell, const std::string& which, const ChildEnd& end);

  const Workplace& place_;
  std::ostream& out_;
  const std::function<bool()>& stop_;
  std::optional<std::size_t> total_;
  std::size_t count_ = 0;
  std::vector<std::string> failures_;
  std::string last_failure_;  // the reason: said once, not once a run
};

}  // namespace sing::lab::compare
