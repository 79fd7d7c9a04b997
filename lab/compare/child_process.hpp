// Starts a program and waits for it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace sing::lab::compare {

struct ChildEnd {
  int code = 0;    // exit code if no signal ended the process
  int signal = 0;  // 0 if it exited
};

// Runs `program arguments…` with empty input and appends its output to `log`. The child has its own
// process group: Ctrl-C reaches it only as the single SIGINT that is sent once `stop` returns true.
// The child gets SIGTERM if this process is killed. `stop` is polled about twenty times per second
// until the child has ended. Throws FileError if the program or the log cannot be opened.
ChildEnd run_child(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                   const std::filesystem::path& log, const std::function<bool()>& stop);

// Returns the path of the running program.
std::filesystem::path own_program();

}  // namespace sing::lab::compare
