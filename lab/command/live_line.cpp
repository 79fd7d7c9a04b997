// Overwrites a terminal's line with a carriage return.
#include "lab/command/live_line.hpp"

#include <ostream>

namespace sing::lab::command {
namespace {

constexpr std::size_t kColumns = 99;
constexpr const char* kEraseLine = "\r\033[K";

// Cuts the text to kColumns characters, never inside a UTF-8 character.
std::string cut(const std::string& text) {
  std::size_t letters = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins_letter = (text[at] & '\xc0') != '\x80';
    if (begins_letter && letters++ == kColumns) {
      return text.substr(0, at);
    }
  }
  return text;
}

}  // namespace

bool LiveLine::is_due(Clock::time_point now) const {
  return terminal_ && (!shown_ || now - last_ >= std::chrono::milliseconds(500));
}

void LiveLine::show(const std::string& text, Clock::time_point now) {
  if (is_due(now)) {
    out_ << kEraseLine << cut(text) << std::flush;
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
