// Trains runs in child processes, some at once, and continues where an earlier call stopped.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/compare/child_process.hpp"
#include "lab/compare/grid.hpp"
#include "lab/compare/result_table.hpp"

namespace sing::lab::compare {

// The place where runs are trained and the program that trains them. Next to each run directory
// `folder`/NAME are NAME.command, the arguments that started it, and NAME.log, its output.
struct Workplace {
  std::filesystem::path folder;
  std::filesystem::path program;  // called like `sing`
  bool terminal = false;  // the output is a terminal: a live line shows the runs' last output
  std::int64_t jobs = 1;  // runs that train at once
};

// Throws FileError if the folder holds a run of the same name that was started with other flags.
void check_commands(const std::vector<Cell>& cells, const Workplace& place);

// Returns the result that the run directory holds if the run has ended. The program's exit code is
// not needed.
std::optional<Result> result_of(const Cell& cell, const Workplace& place);

// Returns the last line of a file that is not blank, or "" if there is none. Reads the last 4 KiB.
std::string last_line(const std::filesystem::path& path);

// Prints one line per run that ends. Once `stop` returns true, which is asked about twenty times
// per second, the runs that train get time to save. The arguments must outlive the runner.
class CellRunner {
 public:
  // `total` is the number of runs, if it is known.
  CellRunner(const Workplace& place, std::ostream& out, const std::function<bool()>& stop,
             std::optional<std::size_t> total = {});

  // Keeps finished and diverged runs, resumes unfinished ones and starts the others, in order.
  // Returns the results in the order of the cells; none for a run that was stopped or not begun.
  std::vector<std::optional<Result>> run(std::span<const Cell> cells);

  // Returns the names of the runs that ended without a result.
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  struct Training {
    std::size_t place;  // index of the cell in the list
    const Cell* cell;
    std::string which;  // "[2/8]"
    ChildProcess child;
  };

  std::string which(std::size_t number) const;
  Training start(const Cell& cell, std::size_t place) const;
  std::optional<Result> finish(const Training& training, const ChildEnd& end);
  std::string live_text(const std::vector<Training>& trainings) const;
  void say_failure(const Training& training, const ChildEnd& end);

  const Workplace& place_;
  std::ostream& out_;
  const std::function<bool()>& stop_;
  std::optional<std::size_t> total_;
  std::size_t before_ = 0;  // runs of earlier calls
  std::vector<std::string> failures_;
  std::string last_failure_;  // printed once, not for every run
};

}  // namespace sing::lab::compare
