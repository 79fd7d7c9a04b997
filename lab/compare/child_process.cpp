// Starts children that end with their parent, which posix_spawn cannot do.
#include "lab/compare/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "sing/base/message.hpp"
#include "sing/io/file_descriptor.hpp"

extern char** environ;

namespace sing::lab::compare {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const char* action, int error) {
  throw FileError(
      fmt::format("[{}] {}: {}", path.string(), action, std::generic_category().message(error)));
}

// Runs in the child between fork and exec, and only calls functions that are safe there. If
// something fails, it writes errno to `failure`, which exec closes.
[[noreturn]] void become(char* const* words, int log, int failure, pid_t parent) {
  ::setpgid(0, 0);  // only the parent gets Ctrl-C and forwards it once
  // If the parent is killed, the training saves a checkpoint and exits, so the run can be resumed.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (::getppid() == parent && ::dup2(nothing, 0) >= 0 && ::dup2(log, 1) >= 0 &&
      ::dup2(log, 2) >= 0) {
    ::execve(words[0], words, environ);
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(failure, &error, sizeof(error));
  ::_exit(127);
}

// Throws FileError if the program cannot be started.
pid_t start(char* const* words, int log) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    fail(words[0], "cannot be started", errno);
  }
  const FileDescriptor reading(ends[0]);
  FileDescriptor writing(ends[1]);
  // Otherwise LibTorch's threads wait in busy loops and slow down everything else on the processor.
  ::setenv("OMP_WAIT_POLICY", "passive", /*overwrite=*/0);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    fail(words[0], "cannot be started", errno);
  }
  if (child == 0) {
    become(words, log, writing.get(), parent);
  }
  writing.close();
  int error = 0;
  if (::read(reading.get(), &error, sizeof(error)) == sizeof(error)) {
    ::waitpid(child, nullptr, 0);
    fail(words[0], "cannot be started", error);
  }
  return child;
}

}  // namespace

ChildProcess::ChildProcess(const std::filesystem::path& program,
                           const std::vector<std::string>& arguments,
                           const std::filesystem::path& log) {
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
  process_ = start(pointers.data(), output.get());
}

ChildProcess::~ChildProcess() {
  if (process_ >= 0) {
    interrupt();
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : process_(std::exchange(other.process_, -1)), interrupted_(other.interrupted_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(process_, other.process_);
  std::swap(interrupted_, other.interrupted_);
  return *this;
}

std::optional<ChildEnd> ChildProcess::end() {
  int status = 0;
  const pid_t ended = ::waitpid(process_, &status, WNOHANG);
  if (ended == process_) {
    process_ = -1;
    return WIFSIGNALED(status) ? ChildEnd{.signal = WTERMSIG(status)}
                               : ChildEnd{.code = WEXITSTATUS(status)};
  }
  if (ended < 0 && errno != EINTR) {
    throw Error(fmt::format("[child] cannot wait: {}", std::generic_category().message(errno)));
  }
  return std::nullopt;
}

void ChildProcess::interrupt() {
  if (!std::exchange(interrupted_, true)) {
    ::kill(process_, SIGINT);
  }
}

std::filesystem::path own_program() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    fail("/proc/self/exe", "cannot be read", error.value());
  }
  return path;
}

}  // namespace sing::lab::compare
