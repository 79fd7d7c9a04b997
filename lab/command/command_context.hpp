// What a command of the program gets besides its flags, and the exit codes of the program.
#pragma once

#include <functional>
#include <iosfwd>

namespace sing::lab::command {

// A command is added by a function that declares its flags and, as the callback of its CLI::App,
// sets `chosen`, which runs once the whole command line is understood.
struct CommandContext {
  std::ostream& out;
  std::function<void()> chosen;
  int exit_code = 0;  // of a command that did what it was asked for
};

inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;
inline constexpr int kUsage = 2;
inline constexpr int kDivergedExit = 3;       // a training without a result
inline constexpr int kInterruptedExit = 130;  // by Ctrl-C, as shells number it

}  // namespace sing::lab::command
