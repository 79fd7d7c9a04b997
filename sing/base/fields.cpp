// Conversions between option members and untyped values, and the search for a misspelt name.
#include "sing/base/fields.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace sing {
namespace {

[[noreturn]] void refuse(std::string_view where, std::string_view wanted, const Value& given) {
  throw std::invalid_argument(concat("[", where, "] wanted ", wanted, ", got ", to_text(given)));
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, above + 1, diagonal + (a[i] == b[j] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string shortest_text(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), number).ptr};
}

std::string to_text(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return concat("'", *text, "'");
  }
  if (const auto* flag = std::get_if<bool>(&value)) {
    return *flag ? "true" : "false";
  }
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    return std::to_string(*whole);
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return shortest_text(*number);
  }
  return "none";
}

std::string Bounds::text() const {
  const bool has_low = low != -HUGE_VAL;
  const bool has_high = high != HUGE_VAL;
  const std::string least = shortest_text(low);
  const std::string most = shortest_text(high);
  if (has_low && has_high) {
    return concat("in [", least, ", ", most, open_high ? ")" : "]");
  }
  if (has_low) {
    return concat("at least ", least, " and finite");
  }
  return has_high ? concat(open_high ? "below " : "at most ", most) : std::string("finite");
}

Value to_value(bool member) { return member; }
Value to_value(std::int64_t member) { return member; }
Value to_value(double member) { return member; }
Value to_value(const std::optional<double>& member) {
  return member ? Value(*member) : Value(std::monostate{});
}

void assign(bool& member, const Value& value, std::string_view where) {
  if (const auto* flag = std::get_if<bool>(&value)) {
    member = *flag;
  } else if (const auto* text = std::get_if<std::string>(&value);
             text != nullptr && (*text == "true" || *text == "false")) {
    member = *text == "true";
  } else {
    refuse(where, "true or false", value);
  }
}

void assign(std::int64_t& member, const Value& value, std::string_view where) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    member = *whole;
    return;
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (const auto parsed = parse_number<std::int64_t>(*text)) {
      member = *parsed;
      return;
    }
  }
  refuse(where, "a whole number", value);
}

void assign(double& member, const Value& value, std::string_view where) {
  if (const auto* number = std::get_if<double>(&value)) {
    member = *number;
    return;
  }
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    member = static_cast<double>(*whole);
    return;
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (const auto parsed = parse_number<double>(*text)) {
      member = *parsed;
      return;
    }
  }
  refuse(where, "a number", value);
}

void assign(std::optional<double>& member, const Value& value, std::string_view where) {
  const auto* text = std::get_if<std::string>(&value);
  if (std::holds_alternative<std::monostate>(value) || (text != nullptr && *text == "none")) {
    member.reset();
    return;
  }
  double number = 0;
  assign(number, value, where);
  member = number;
}

std::string nearest_name_hint(std::string_view name, std::span<const std::string> known) {
  const auto nearest =
      std::min_element(known.begin(), known.end(), [&](const std::string& a, const std::string& b) {
        return edit_distance(name, a) < edit_distance(name, b);
      });
  if (nearest == known.end() || edit_distance(name, *nearest) > (nearest->size() + 1) / 2) {
    return "";
  }
  return concat(" (nearest known: '", *nearest, "')");
}

}  // namespace sing
