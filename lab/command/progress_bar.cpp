// Draws the progress line.
#include "lab/command/progress_bar.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "lab/command/text_width.hpp"

namespace sing::lab::command {
namespace {

constexpr int kCells = 24;

template <class... Arguments>
std::string print(const char* format, Arguments... arguments) {
  char text[256];
  const int length = std::snprintf(text, sizeof(text), format, arguments...);
  return std::string(text, static_cast<std::size_t>(std::clamp(length, 0, 255)));
}

}  // namespace

std::string text_of_seconds(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e8) {
    return "?";
  }
  const long long whole = std::llround(seconds);
  return whole >= 3600 ? print("%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60)
                       : print("%lld:%02lld", whole / 60, whole % 60);
}

std::string text_of(const Progress& progress, int columns) {
  const double share = progress.total_steps > 0 ? static_cast<double>(progress.step) /
                                                      static_cast<double>(progress.total_steps)
                                                : 1;
  const std::string begin = print("%3.0f %% ", 100 * share);
  // A narrow terminal cuts off the end, so the most important numbers come first.
  const std::string end =
      print("step %lld/%lld · ", static_cast<long long>(progress.step),
            static_cast<long long>(progress.total_steps)) +
      text_of_seconds(progress.seconds_left) +
      print(" left · loss %.3e · epoch %.2f · rate %.2e · %.0f %.*s/s", progress.loss,
            progress.epoch, progress.learning_rate, progress.units_per_second,
            static_cast<int>(progress.unit.size()), progress.unit.data());
  if (columns == 0) {
    return begin + end;
  }
  // One column stays free, because a full line makes some terminals begin the next one.
  const int room = columns - 1 - static_cast<int>(width_of(begin + end)) - 1;
  const int cells = std::clamp(room, 0, kCells);
  std::string bar;
  for (int cell = 0; cell < cells; ++cell) {
    bar += cell < static_cast<int>(share * cells) ? "━" : "╌";
  }
  return cut(begin + (cells > 0 ? bar + " " : "") + end, static_cast<std::size_t>(columns - 1));
}

int terminal_columns(const std::ostream& out) {
  constexpr int kUsual = 80;
  if (&out != &std::cout || ::isatty(STDOUT_FILENO) != 1) {
    return 0;
  }
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

void ProgressBar::show(const Progress& progress, Clock::time_point now) {
  const auto pause =
      columns_ > 0 ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10'000);
  if (shown_ && now - *shown_ < pause) {
    return;
  }
  shown_ = now;
  const std::string text = text_of(progress, columns_);
  if (columns_ == 0) {
    out_ << text << '\n' << std::flush;
    return;
  }
  const std::size_t width = width_of(text);
  out_ << '\r' << text << std::string(width_ > width ? width_ - width : 0, ' ') << std::flush;
  width_ = width;
}

void ProgressBar::say(const std::string& line) {
  if (columns_ > 0 && width_ > 0) {
    out_ << '\r' << std::string(width_, ' ') << '\r';
    width_ = 0;
  }
  out_ << line << '\n' << std::flush;
}

void ProgressBar::finish() {
  if (columns_ > 0 && width_ > 0) {
    out_ << '\n' << std::flush;
    width_ = 0;
  }
}

}  // namespace sing::lab::command
