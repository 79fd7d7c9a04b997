// Children by posix_spawn.
#include "lab/compare/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <system_error>

#include "sing/base/check.hpp"
#include "sing/optim/file_descriptor.hpp"

extern char** environ;

namespace sing::compare {
namespace {

constexpr int kMillisecondsBetweenLooks = 50;

[[noreturn]] void fail(const std::filesystem::path& path, const char* action, int error) {
  throw FileError(
      concat("[", path.string(), "] ", action, ": ", std::generic_category().message(error)));
}

// What posix_spawn is told; destroyed with the object.
class SpawnPlan {
 public:
  explicit SpawnPlan(int log) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, log, 1);
    posix_spawn_file_actions_adddup2(&actions_, log, 2);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes_, 0);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

ChildEnd wait_for(pid_t child, const std::function<bool()>& stop) {
  bool told = false;
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) {
      return WIFSIGNALED(status) ? ChildEnd{.signal = WTERMSIG(status)}
                                 : ChildEnd{.code = WEXITSTATUS(status)};
    }
    if (ended < 0 && errno != EINTR) {
      throw Error(concat("[child] cannot wait: ", std::generic_category().message(errno)));
    }
    if (stop() && !told) {
      ::kill(child, SIGINT);
      told = true;
    }
    ::poll(nullptr, 0, kMillisecondsBetweenLooks);
  }
}

}  // namespace

ChildEnd run_child(const std::filesystem::path& program,
                   const std::vector<std::string>& arguments,
                   const std::filesystem::path& log,
                   const std::function<bool()>& stop) {
  const FileDescriptor output(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!output.is_open()) {
    fail(log, "cannot be opened", errno);
  }
  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  const SpawnPlan plan(output.get());
  pid_t child = 0;
  const int error = ::posix_spawn(
      &child, program.c_str(), plan.actions(), plan.attributes(), pointers.data(), environ);
  if (error != 0) {
    fail(program, "cannot be started", error);
  }
  return wait_for(child, stop);
}

std::filesystem::path own_program() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    fail("/proc/self/exe", "cannot be read", error.value());
  }
  return path;
}

}  // namespace sing::compare
