// Lists of the fields of option structs, with names, help and bounds. Parsing, validation, files
// and documentation all use these lists.
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
#include <vector>

#include "sing/base/enum_names.hpp"

namespace sing {

// The value of an option in a file, on a command line or in another language. std::monostate is
// "none", the absence of an optional number.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

// The shortest text that is parsed to the same number.
std::string shortest_text(double number);

// Parses the whole text as a number, independently of the locale; nullopt if it is not one.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end ? std::optional<Number>(number) : std::nullopt;
}

// The value in messages, with text in quotes.
std::string to_text(const Value& value);

// The allowed numbers are those in [low, high], or in [low, high) with `open_high`.
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

// An options struct lists its fields in a static function `fields()` that returns a tuple of Field.
template <class Options>
concept HasFields = requires { Options::fields(); };

// Calls visitor(field, reference to the member) for each field, in the order of the list.
template <class Options, class Visitor>
  requires HasFields<std::remove_const_t<Options>>
void visit_fields(Options& options, Visitor&& visitor) {
  std::apply([&](const auto&... each) { (visitor(each, options.*(each.member)), ...); },
             std::remove_const_t<Options>::fields());
}

// One option with its present value.
struct OptionInfo {
  std::string name;
  std::string help;
  Value value;
};

Value to_value(bool member);
Value to_value(std::int64_t member);
Value to_value(double member);
Value to_value(const std::optional<double>& member);
template <NamedEnum Enum>
Value to_value(Enum member) {
  return std::string(name_of(member));
}

// The fields of several option structs as one list.
template <HasFields... Structs>
std::vector<OptionInfo> list_fields(const Structs&... structs) {
  std::vector<OptionInfo> list;
  const auto add = [&](const auto& field, const auto& member) {
    list.push_back({std::string(field.name), std::string(field.help), to_value(member)});
  };
  (visit_fields(structs, add), ...);
  return list;
}

void append(std::vector<OptionInfo>& list, std::vector<OptionInfo> more);
std::vector<std::string> names_of(const std::vector<OptionInfo>& options);

// Throws std::invalid_argument: "[where] wanted <wanted>, got <value>".
[[noreturn]] void refuse_value(std::string_view where, std::string_view wanted, const Value& value);

// Each throws std::invalid_argument with the prefix `where` if the value is of the wrong kind.
void assign(bool& member, const Value& value, std::string_view where);
void assign(std::int64_t& member, const Value& value, std::string_view where);
void assign(double& member, const Value& value, std::string_view where);
void assign(std::optional<double>& member, const Value& value, std::string_view where);
template <NamedEnum Enum>
void assign(Enum& member, const Value& value, std::string_view where) {
  const auto* text = std::get_if<std::string>(&value);
  const std::optional<Enum> parsed = text != nullptr ? parse_enum<Enum>(*text) : std::nullopt;
  if (!parsed) {
    refuse_value(where, "one of " + joined_enum_names<Enum>(), value);
  }
  member = *parsed;
}

// Assigns to the field of that name. Returns false if there is none.
template <HasFields Options>
bool assign_field(Options& options, std::string_view name, const Value& value) {
  bool found = false;
  visit_fields(options, [&](const auto& field, auto& member) {
    if (field.name == name) {
      assign(member, value, field.name);
      found = true;
    }
  });
  return found;
}

// Throws std::invalid_argument if the number lies outside the bounds.
void check_bounds(std::string_view where, std::string_view name, const Bounds& bounds,
                  double number);

// Checks the bounds of every field.
template <HasFields Options>
void validate(const Options& options, std::string_view where) {
  visit_fields(options, [&](const auto& field, const auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    if constexpr (std::is_same_v<Member, std::optional<double>>) {
      if (member) {
        check_bounds(where, field.name, field.bounds, *member);
      }
    } else if constexpr (std::is_arithmetic_v<Member> && !std::is_same_v<Member, bool>) {
      check_bounds(where, field.name, field.bounds, static_cast<double>(member));
    }
  });
}

}  // namespace sing
