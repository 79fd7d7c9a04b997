// The program `sing` as a function, so that tests can call it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <iosfwd>

namespace sing::lab {

// What a command gets beside its flags. A command is added by a function that declares its flags
// and, as the callback of its CLI::App, sets `chosen`; that runs once the whole line is understood.
struct Session {
  std::ostream& out;
  std::function<void()> chosen;
  int exit_code = 0;  // of a command that did what it was asked for
};

inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;
inline constexpr int kUsage = 2;
inline constexpr int kDivergedExit = 3;       // a training that has no result
inline constexpr int kInterruptedExit = 130;  // by Ctrl-C, as shells number it

// `add_more` adds the commands that this library does not have: those that need LibTorch.
int run_program(int argument_count, const char* const* arguments, std::ostream& out,
                std::ostream& error,
                const std::function<void(CLI::App&, Session&)>& add_more = nullptr);

}  // namespace sing::lab
