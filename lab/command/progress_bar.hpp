// Shows the progress of a training: a bar on a terminal, or else an occasional line.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace sing::lab::command {

struct Progress {
  std::int64_t step = 0;
  std::int64_t total_steps = 0;
  double epoch = 0;
  double loss = 0;
  double learning_rate = 0;
  double units_per_second = 0;
  std::string_view unit = "images";
  double seconds_left = 0;
};

class ProgressBar {
 public:
  using Clock = std::chrono::steady_clock;

  // `columns` is the width of the terminal, or 0 if there is none.
  ProgressBar(std::ostream& out, int columns) : out_(out), columns_(columns) {}

  // Draws at most ten times per second on a terminal, and every ten seconds elsewhere.
  void show(const Progress& progress, Clock::time_point now = Clock::now());
  // Prints a line that stays above the bar.
  void say(const std::string& line);
  // Leaves the last state on its own line.
  void finish();

 private:
  std::ostream& out_;
  int columns_;
  std::optional<Clock::time_point> shown_;
  std::size_t width_ = 0;  // width of the bar on the screen
};

// Returns "12 % ━━━╌╌╌ step 120/1000 · 0:42 left · loss 1.230e-02 · …". The bar fills the free
// columns, and the text is cut if there are too few. With 0 columns the text is complete and has no
// bar.
std::string text_of(const Progress& progress, int columns);

// Returns the width of the terminal that `out` writes to, or 0 if it is not a terminal.
int terminal_columns(const std::ostream& out);

// Returns "1:02:03" or "2:03".
std::string text_of_seconds(double seconds);

}  // namespace sing::lab::command
