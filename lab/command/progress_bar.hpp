// Shows on a terminal how far a training is; a line now and then where there is no terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

namespace sing::lab::command {

struct Progress {
  std::int64_t step = 0;
  std::int64_t total_steps = 0;
  double epoch = 0;
  double loss = 0;
  double learning_rate = 0;
  double images_per_second = 0;
  double seconds_left = 0;
};

class ProgressBar {
 public:
  using Clock = std::chrono::steady_clock;

  // `columns`: the width of the terminal; 0: there is none.
  ProgressBar(std::ostream& out, int columns) : out_(out), columns_(columns) {}

  // At most ten times a second on a terminal, every ten seconds elsewhere.
  void show(const Progress& progress, Clock::time_point now = Clock::now());
  // A line that stays, the bar below it.
  void say(const std::string& line);
  // The last state stays on its own line.
  void finish();

 private:
  std::ostream& out_;
  int columns_;
  std::optional<Clock::time_point> shown_;
  std::size_t width_ = 0;  // of the bar on the screen
};

// "12 % ━━━╌╌╌ step 120/1000 · loss 0.0123 · rate 0.05 · 1234 images/s · 0:42 left", the bar as
// long as the columns leave room for, and cut if they are too few; 0: whole, without a bar.
std::string text_of(const Progress& progress, int columns);

// Of the terminal that `out` is; 0 if it is none.
int terminal_columns(const std::ostream& out);

// "1:02:03", "2:03".
std::string text_of_seconds(double seconds);

}  // namespace sing::lab::command
