// Conversions between option members and untyped values.
#include "sing/base/fields.hpp"

#include <algorithm>
#include <iterator>

#include "sing/base/message.hpp"

namespace sing {

std::string shortest_text(double number) {
  if (std::abs(number) < 0x1p53 && std::trunc(number) == number) {
    return fmt::format("{:.0f}", number);  // to_chars would write 100000 as 1e+05
  }
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), number).ptr};
}

std::string to_text(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return fmt::format("'{}'", *text);
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
    return fmt::format("in [{}, {}{}", least, most, open_high ? ")" : "]");
  }
  if (has_low) {
    return fmt::format("at least {} and finite", least);
  }
  return has_high ? fmt::format("{}{}", open_high ? "below " : "at most ", most)
                  : std::string("finite");
}

void append(std::vector<OptionInfo>& list, std::vector<OptionInfo> more) {
  std::move(more.begin(), more.end(), std::back_inserter(list));
}

std::vector<std::string> names_of(const std::vector<OptionInfo>& options) {
  std::vector<std::string> names;
  names.reserve(options.size());
  for (const OptionInfo& option : options) {
    names.push_back(option.name);
  }
  return names;
}

void refuse_value(std::string_view where, std::string_view wanted, const Value& value) {
  throw std::invalid_argument(fmt::format("[{}] wanted {}, got {}", where, wanted, to_text(value)));
}

void check_bounds(std::string_view where, std::string_view name, const Bounds& bounds,
                  double number) {
  SING_CHECK(bounds.contain(number), "[{}] wanted {} {}, got {}", where, name, bounds.text(),
             shortest_text(number));
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
    refuse_value(where, "true or false", value);
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
  refuse_value(where, "a whole number", value);
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
  refuse_value(where, "a number", value);
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

}  // namespace sing
