// Runs a program for a test, which can read its output line by line and kill it.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

extern char** environ;

namespace sing::test {

class ChildProcess {
 public:
  ChildProcess(const std::string& program, const std::vector<std::string>& words) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      throw std::runtime_error("pipe");
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::vector<char*> pointers = {const_cast<char*>(program.c_str())};
    for (const std::string& word : words) {
      pointers.push_back(const_cast<char*>(word.c_str()));
    }
    pointers.push_back(nullptr);
    // A training in this process may have made it ignore signals, which a child would inherit.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    sigaddset(&signals, SIGHUP);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    const int failed =
        ::posix_spawn(&process_, program.c_str(), &actions, &attributes, pointers.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    output_ = ::fdopen(ends[0], "r");
    if (failed != 0) {
      process_ = -1;
      throw std::runtime_error(program);
    }
  }
  ~ChildProcess() {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      wait();
    }
    close_output();
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Returns false at the end of the output.
  bool read_line(std::string& line) {
    line.clear();
    for (int byte; (byte = std::fgetc(output_)) != EOF;) {
      if (byte == '\n') {
        return true;
      }
      line += static_cast<char>(byte);
    }
    return !line.empty();
  }

  // Leaves the child with a pipe that nobody reads.
  void close_output() {
    if (output_ != nullptr) {
      std::fclose(output_);
      output_ = nullptr;
    }
  }

  pid_t id() const { return process_; }

  void send(int signal) { ::kill(process_, signal); }

  bool is_running() const {
    siginfo_t end{};
    return ::waitid(P_PID, static_cast<id_t>(process_), &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           end.si_pid == 0;
  }

  // Returns the status of waitpid, for WIFSIGNALED and WEXITSTATUS.
  int wait() {
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = -1;
    return status;
  }

 private:
  pid_t process_ = -1;
  std::FILE* output_ = nullptr;
};

// Reads the child's output until `count` evaluations were printed; returns false if it ended
// before.
inline bool wait_for_evaluations(ChildProcess& child, std::uint32_t count) {
  for (std::string line; count > 0;) {
    if (!child.read_line(line)) {
      return false;
    }
    count -= line.find("test loss") != std::string::npos && line.starts_with("step") ? 1U : 0U;
  }
  return true;
}

}  // namespace sing::test
