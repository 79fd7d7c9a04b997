// Command-line flags for the fields of an options struct: one list, the struct's own.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>

#include "sing/base/fields.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::command {

// `weight_decay` is `--weight-decay` on the command line.
inline std::string flag_of(std::string_view name) {
  std::string flag = fmt::format("--{}", name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

inline Value value_of_text(const std::string& text) {
  if (const auto integer = parse_number<std::int64_t>(text)) {
    return *integer;
  }
  if (const auto number = parse_number<double>(text)) {
    return *number;
  }
  if (text == "none") {
    return std::monostate{};
  }
  return text;
}

// For the help text.
inline std::string kind_of(const Value& value) {
  if (std::holds_alternative<std::int64_t>(value)) {
    return "INTEGER";
  }
  return std::holds_alternative<std::string>(value) ? "NAME" : "NUMBER";
}

// A bad value throws std::invalid_argument naming the flag; bounds are for validate().
template <HasFields Options>
void add_field_flags(CLI::App& app, Options& options) {
  visit_fields(options, [&](const auto& field, auto& member) {
    const std::string flag = flag_of(field.name);
    const std::string help(field.help);
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, bool>) {
      app.add_flag(flag, member, member ? fmt::format("{} (on; {}=false: off)", help, flag) : help);
    } else {
      const Value initial = to_value(member);
      const auto* text = std::get_if<std::string>(&initial);
      app.add_option_function<std::string>(
             flag,
             [&member, flag](const std::string& given) {
               assign(member, value_of_text(given), flag);
             },
             help)
          ->type_name(kind_of(initial))
          ->default_str(text != nullptr ? *text : to_text(initial));
    }
  });
}

}  // namespace sing::lab::command
