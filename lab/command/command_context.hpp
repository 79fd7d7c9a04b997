// Defines what a command receives besides its flags, and the exit codes of the program.
#pragma once

#include <functional>
#include <iosfwd>

namespace sing::lab::command {

// A command is added by a function that declares its flags. The callback of its CLI::App sets
// `chosen`, which runs once the whole command line has been parsed.
struct CommandContext {
  std::ostream& out;
  std::function<void()> chosen;
  int exit_code = 0;  // exit code of a command that did what it was asked to do
  // If true, the command fails when its output cannot be written; some write results to files.
  bool needs_output = true;
};

inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;
inline constexpr int kUsage = 2;
inline constexpr int kDivergedExit = 3;       // a training ended without a result
inline constexpr int kInterruptedExit = 130;  // Ctrl-C; the number that shells use

}  // namespace sing::lab::command
