// Overwrites a terminal's line with a carriage return.
#include "lab/command/live_line.hpp"

#include <ostream>

#include "lab/command/text_width.hpp"

namespace sing::lab::command {
namespace {

constexpr const char* kEraseLine = "\r\033[K";

}  // namespace

bool LiveLine::is_due(Clock::time_point now) const {
  return terminal_ && (!shown_ || now - last_ >= std::chrono::milliseconds(500));
}

void LiveLine::show(const std::string& text, Clock::time_point now) {
  if (is_due(now)) {
    out_ << kEraseLine << cut(text, kColumns) << std::flush;
    shown_ = true;
    last_ = now;
  }
}

void LiveLine::clear() {
  if (shown_) {
    out_ << kEraseLine << std::flush;
    shown_ = false;
  }
}

}  // namespace sing::lab::command
