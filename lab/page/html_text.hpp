// Text and numbers as they stand in the page.
#pragma once

#include <string>
#include <string_view>

namespace sing::lab::page {

// Safe inside an element and inside a quoted attribute.
std::string escape_html(std::string_view text);

// A place in a drawing: one decimal, without a trailing zero.
std::string coordinate(double value);

// For reading: `digits` significant ones, groups of three apart; a dash if not finite.
std::string short_number(double value, int digits = 4);

// 1.5 h, 3.2 min, 41 s.
std::string duration_text(double seconds);

// 0.1234 as 12.34 %.
std::string percent_text(double share);

}  // namespace sing::lab::page
