// Runs `sing` in several processes under mpirun, for tests.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/lab/training/child_process.hpp"
#include "tests/lab/training/tiny_run.hpp"

namespace sing::test {

// A job of a few seconds that takes longer hangs; mpirun then ends it with an error.
constexpr const char* kJobSeconds = "120";

// Starts `ranks` processes; standard output and errors come as one text. Containers run tests as
// root and on few cores, which mpirun refuses unless told otherwise.
inline std::unique_ptr<ChildProcess> start_job(int ranks, const Words& words) {
  for (const char* variable :
       {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
        "OMPI_MCA_rmaps_base_oversubscribe", "OMPI_MCA_mpi_yield_when_idle"}) {
    ::setenv(variable, "1", 1);
  }
  ::setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 1);
  Words all = {"-c", "exec \"$0\" \"$@\" 2>&1", SING_MPIRUN, "--timeout", kJobSeconds,
               "-n", std::to_string(ranks),     SING_PROGRAM};
  all.insert(all.end(), words.begin(), words.end());
  return std::make_unique<ChildProcess>("/bin/sh", all);
}

inline std::string rest_of_output(ChildProcess& job) {
  std::string output;
  for (std::string line; job.read_line(line);) {
    output += line + "\n";
  }
  return output;
}

inline Outcome end_of(ChildProcess& job) {
  std::string output = rest_of_output(job);
  const int status = job.wait();
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, std::move(output), ""};
}

inline Outcome run_job(int ranks, const Words& words) { return end_of(*start_job(ranks, words)); }

// Reads the job's output until `count` evaluations were printed; returns false if it ended before.
// mpirun gives rank 0 a terminal, so the lines have a progress bar before them.
inline bool wait_for_job_evaluations(ChildProcess& job, int count) {
  for (std::string line; count > 0;) {
    if (!job.read_line(line)) {
      return false;
    }
    count -= line.find("test loss") != std::string::npos ? 1 : 0;
  }
  return true;
}

// Returns the process that writes the run's files.
inline pid_t first_rank(const std::filesystem::path& run) {
  pid_t process = -1;
  std::ifstream(run / "lock") >> process;
  return process;
}

// Returns the processes that mpirun has started, by the parent in /proc/*/stat.
inline std::vector<pid_t> ranks_of(const ChildProcess& job) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    std::ifstream stream(entry.path() / "stat");
    std::string text;
    if (name.find_first_not_of("0123456789") == std::string::npos && std::getline(stream, text)) {
      char state = 0;
      pid_t parent = 0;
      std::istringstream(text.substr(text.rfind(')') + 1)) >> state >> parent;
      if (parent == job.id()) {
        found.push_back(static_cast<pid_t>(std::stoi(name)));
      }
    }
  }
  return found;
}

}  // namespace sing::test
