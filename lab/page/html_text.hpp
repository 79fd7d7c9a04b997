// Formats text and numbers for the page.
#pragma once

#include <string>
#include <string_view>

namespace sing::lab::page {

// The result is safe inside an element and inside a quoted attribute.
std::string escape_html(std::string_view text);

// Formats a coordinate of a drawing with one decimal, without a trailing zero.
std::string coordinate(double value);

// Formats a number with `digits` significant digits in groups of three, or a dash if it is not
// finite.
std::string short_number(double value, int digits = 4);

// Returns a text such as 1.5 h, 3.2 min or 41 s.
std::string duration_text(double seconds);

// Returns the text with its first letter in upper case.
std::string capitalized(std::string text);

// Formats 0.1234 as 12.34 %.
std::string percent_text(double share);

}  // namespace sing::lab::page
