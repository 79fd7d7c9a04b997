// Shows one line of a terminal that changes during a run.
#pragma once

#include <chrono>
#include <cstddef>
#include <iosfwd>
#include <string>

namespace sing::lab::command {

class LiveLine {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kColumns = 99;  // fits a terminal of 100 columns

  // Does nothing if `out` is not a terminal.
  LiveLine(std::ostream& out, bool terminal) : out_(out), terminal_(terminal) {}

  // Returns whether the line may be written again: at most twice per second.
  bool is_due(Clock::time_point now = Clock::now()) const;
  // Cuts the text to kColumns.
  void show(const std::string& text, Clock::time_point now = Clock::now());
  void clear();

 private:
  std::ostream& out_;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point last_{};
};

}  // namespace sing::lab::command
