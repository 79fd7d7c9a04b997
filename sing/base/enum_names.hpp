// The names of an enumeration's values, for options, files and messages.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace sing {

template <class Enum>
struct EnumName {
  Enum value;
  std::string_view name;
};

// An enumeration has names when a function `enum_names(Enum)` in its namespace returns a
// std::array<EnumName<Enum>, N> with one row per value.
template <class Enum>
concept NamedEnum = requires(Enum value) { enum_names(value).front().name; };

template <NamedEnum Enum>
constexpr std::string_view name_of(Enum value) {
  for (const EnumName<Enum>& row : enum_names(value)) {
    if (row.value == value) {
      return row.name;
    }
  }
  return "unknown";
}

template <NamedEnum Enum>
constexpr std::optional<Enum> parse_enum(std::string_view name) {
  for (const EnumName<Enum>& row : enum_names(Enum{})) {
    if (row.name == name) {
      return row.value;
    }
  }
  return std::nullopt;
}

// "off, unit_norm, size_calibrated".
template <NamedEnum Enum>
std::string joined_enum_names() {
  std::string text;
  for (const EnumName<Enum>& row : enum_names(Enum{})) {
    text += text.empty() ? "" : ", ";
    text += row.name;
  }
  return text;
}

}  // namespace sing
