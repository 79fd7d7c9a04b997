// Starts a program and waits for it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace sing::lab::compare {

struct ChildEnd {
  int code = 0;    // exit code, if no signal ended it
  int signal = 0;  // 0: it exited
};

// Runs `program arguments…` with nothing on its input and its output added to `log`. It has a
// process group of its own: a Ctrl-C reaches it only as the one SIGINT that is sent once `stop`
// says so, and it is sent SIGTERM if this process is killed. `stop` is asked some twenty times a
// second until the child has ended. Throws FileError if the program or the log cannot be opened.
ChildEnd run_child(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                   const std::filesystem::path& log, const std::function<bool()>& stop);

// The file of the running program itself.
std::filesystem::path own_program();

}  // namespace sing::lab::compare
