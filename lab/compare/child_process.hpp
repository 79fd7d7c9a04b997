// Starts a program and observes it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sing::lab::compare {

struct ChildEnd {
  int code = 0;    // exit code if no signal ended the process
  int signal = 0;  // 0 if it exited
};

// A running program with empty input, whose output is appended to a log. It has its own process
// group: Ctrl-C reaches it only as the SIGINT of interrupt(). It gets SIGTERM if this process is
// killed.
class ChildProcess {
 public:
  // Throws FileError if the program or the log cannot be opened.
  ChildProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments,
               const std::filesystem::path& log);
  // Interrupts the program if it still runs, and waits until it has saved and ended.
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  // Returns none while the program runs, without waiting. May not be called again after an end.
  std::optional<ChildEnd> end();
  // Sends SIGINT the first time that it is called.
  void interrupt();

 private:
  pid_t process_ = -1;  // -1 after its end
  bool interrupted_ = false;
};

// Returns the path of the running program.
std::filesystem::path own_program();

}  // namespace sing::lab::compare
