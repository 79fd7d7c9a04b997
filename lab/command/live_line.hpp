// One line of a terminal that changes while a run is under way.
#pragma once

#include <chrono>
#include <cstddef>
#include <iosfwd>
#include <string>

namespace sing::lab::command {

class LiveLine {
 public:
  using Clock = std::chrono::steady_clock;

  // Does nothing where `out` is no terminal.
  LiveLine(std::ostream& out, bool terminal) : out_(out), terminal_(terminal) {}

  // Whether the line is old enough to be written again: twice a second.
  bool is_due(Clock::time_point now = Clock::now()) const;
  // Cut off where it would fill the line of a terminal of 100 columns.
  void show(const std::string& text, Clock::time_point now = Clock::now());
  void clear();

 private:
  std::ostream& out_;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point last_{};
};

}  // namespace sing::lab::command
