// The one list of an options struct's fields: names, help and bounds, visited for parsing,
// validation, files and documentation.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>

#include "sing/base/check.hpp"

namespace sing {

// What an option can be given as from a file, a command line or another language.
// std::monostate is "none": an optional number that is absent.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

// The shortest text that reads back as the same number.
std::string shortest_text(double number);

// All of the text as a number, whatever the locale; none if it is not one.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end ? std::optional<Number>(number) : std::nullopt;
}

// For messages: text in quotes.
std::string to_text(const Value& value);

// Numbers outside [low, high] are refused; `open_high` excludes the upper end.
struct Bounds {
  double low = -HUGE_VAL;
  double high = HUGE_VAL;
  bool open_high = false;

  bool contain(double value) const {
    return value >= low && (open_high ? value < high : value <= high) && std::isfinite(value);
  }
  std::string text() const;
};

constexpr Bounds at_least(double low) { return {.low = low}; }
constexpr Bounds from_zero_below(double high) {
  return {.low = 0, .high = high, .open_high = true};
}
constexpr Bounds between(double low, double high) { return {.low = low, .high = high}; }

template <class Struct, class Member>
struct Field {
  std::string_view name;
  Member Struct::* member;
  std::string_view help;
  Bounds bounds;
};

template <class Struct, class Member>
constexpr Field<Struct, Member> field(std::string_view name, Member Struct::* member,
                                      std::string_view help, Bounds bounds = {}) {
  return {name, member, help, bounds};
}

// An options struct lists its fields in a static function `fields()` returning a tuple of Field.
template <class Options>
concept HasFields = requires { Options::fields(); };

// Calls visitor(field, reference to the member) for each field, in the order of the list.
template <class Options, class Visitor>
  requires HasFields<std::remove_const_t<Options>>
void visit_fields(Options& options, Visitor&& visitor) {
  std::apply([&](const auto&... each) { (visitor(each, options.*(each.member)), ...); },
             std::remove_const_t<Options>::fields());
}

// An enumeration used as an option offers name_of(value) and parse_name(text, value&).
Value to_value(bool member);
Value to_value(std::int64_t member);
Value to_value(double member);
Value to_value(const std::optional<double>& member);
template <class Enum>
  requires std::is_enum_v<Enum>
Value to_value(Enum member) {
  return std::string(name_of(member));
}

// Each throws std::invalid_argument, naming `where`, if the value is of the wrong kind.
void assign(bool& member, const Value& value, std::string_view where);
void assign(std::int64_t& member, const Value& value, std::string_view where);
void assign(double& member, const Value& value, std::string_view where);
void assign(std::optional<double>& member, const Value& value, std::string_view where);
template <class Enum>
  requires std::is_enum_v<Enum>
void assign(Enum& member, const Value& value, std::string_view where) {
  const auto* text = std::get_if<std::string>(&value);
  SING_CHECK(text != nullptr && parse_name(*text, member), "[", where, "] wanted one of ",
             names_of(Enum{}), ", got ", to_text(value));
}

// " (nearest known: 'x')" or "" when nothing is near.
std::string nearest_name_hint(std::string_view name, std::span<const std::string> known);

// Throws std::invalid_argument if a number lies outside the bounds of its field.
template <HasFields Options>
void validate(const Options& options, std::string_view where) {
  visit_fields(options, [&](const auto& each, const auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    std::optional<double> number;
    if constexpr (std::is_same_v<Member, std::optional<double>>) {
      number = member;
    } else if constexpr (std::is_arithmetic_v<Member> && !std::is_same_v<Member, bool>) {
      number = static_cast<double>(member);
    }
    SING_CHECK(!number || each.bounds.contain(*number), "[", where, "] ", each.name, " must be ",
               each.bounds.text(), ", got ", shortest_text(*number));
  });
}

}  // namespace sing
