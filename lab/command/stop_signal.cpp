// Installs the signal handlers.
#include "lab/command/stop_signal.hpp"

#include <unistd.h>

#include <atomic>

namespace sing::lab::command {
namespace {

std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // usable in a signal handler

bool error_is_terminal = false;

// Finishing a step or saving a run may take a while, so the user is told that the program will
// stop.
void request_stop(int /*signal*/) {
  stop_requested = true;
  if (error_is_terminal) {
    constexpr char kText[] =
        "\nstopping after everything is saved; interrupt again to end at once\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText, sizeof(kText) - 1);
  }
}

}  // namespace

StopSignal::StopSignal() {
  stop_requested = false;
  error_is_terminal = ::isatty(STDERR_FILENO) == 1;
  struct sigaction action{};
  action.sa_handler = request_stop;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &old_interrupt_);
  sigaction(SIGTERM, &action, &old_terminate_);
  action.sa_flags = 0;
  sigaction(SIGHUP, nullptr, &old_hangup_);
  if (old_hangup_.sa_handler != SIG_IGN) {  // nohup's choice stays
    sigaction(SIGHUP, &action, nullptr);
  }
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &ignore, &old_file_size_);
  sigaction(SIGPIPE, &ignore, nullptr);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
  sigaction(SIGHUP, &old_hangup_, nullptr);
  sigaction(SIGXFSZ, &old_file_size_, nullptr);
}

bool StopSignal::requested() const { return stop_requested; }

}  // namespace sing::lab::command
