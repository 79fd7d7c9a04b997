// Formats text and numbers without the locale, so that the page is the same on every machine.
#include "lab/page/html_text.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace sing::lab::page {
namespace {

constexpr std::string_view kNarrowSpace = "\u202f";

std::string in_format(double value, std::chars_format format, int precision) {
  std::array<char, 400>
      buffer{};  // a double in fixed notation has at most 309 digits before the point
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format, precision);
  return {buffer.data(), end.ptr};
}

std::string without_trailing_zeros(std::string text) {
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') {
      text.pop_back();
    }
  }
  return text == "-0" ? "0" : text;
}

// Shortens 1.2e-05 to 1.2e-5.
std::string short_exponent(const std::string& text) {
  const std::size_t mark = text.find('e');
  std::string mantissa = without_trailing_zeros(text.substr(0, mark));
  std::string exponent = text.substr(mark + 1);
  const bool negative = exponent.front() == '-';
  exponent.erase(0, exponent.find_first_not_of("+-0"));
  return mantissa + (negative ? "e-" : "e") + (exponent.empty() ? "0" : exponent);
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char character : text) {
    switch (character) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += character;
    }
  }
  return escaped;
}

std::string coordinate(double value) {
  return without_trailing_zeros(in_format(value, std::chars_format::fixed, 1));
}

std::string short_number(double value, int digits) {
  if (!std::isfinite(value)) {
    return "–";
  }
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-3 || size >= 1e9)) {
    return short_exponent(in_format(value, std::chars_format::scientific, digits - 1));
  }
  const int before_point = size < 1 ? 1 : static_cast<int>(std::floor(std::log10(size))) + 1;
  const int leading_zeros =
      size == 0 || size >= 1 ? 0 : -static_cast<int>(std::floor(std::log10(size)));
  const int decimals = size >= 1 ? std::max(0, digits - before_point) : digits + leading_zeros - 1;
  std::string text = without_trailing_zeros(in_format(value, std::chars_format::fixed, decimals));
  const std::size_t sign = text.front() == '-' ? 1 : 0;
  const std::size_t point = std::min(text.find('.'), text.size());
  if (point - sign > 4) {
    for (std::size_t at = point; at > sign + 3;) {
      at -= 3;
      text.insert(at, kNarrowSpace);
    }
  }
  return text;
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0)) {
    return "–";
  }
  if (seconds < 120) {
    return short_number(seconds, 3) + " s";
  }
  return seconds < 7200 ? short_number(seconds / 60, 3) + " min"
                        : short_number(seconds / 3600, 3) + " h";
}

std::string percent_text(double share) {
  return std::isfinite(share)
             ? without_trailing_zeros(in_format(100 * share, std::chars_format::fixed, 2)) + " %"
             : "–";
}

std::string capitalized(std::string text) {
  if (!text.empty()) {
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  }
  return text;
}

}  // namespace sing::lab::page
