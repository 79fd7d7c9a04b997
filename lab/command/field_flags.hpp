// Declares command-line flags that parse their values with the library's functions, so that a bad
// value gets the library's message.
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

// Returns the kind of the value for the help text.
inline std::string kind_of(const Value& value) {
  if (std::holds_alternative<std::int64_t>(value)) {
    return "INTEGER";
  }
  return std::holds_alternative<std::string>(value) ? "NAME" : "NUMBER";
}

// Adds `--flag` or `--flag=false`. For a bad value, this and the functions below throw
// std::invalid_argument naming the flag.
inline CLI::Option* add_switch(CLI::App& app, const std::string& flag, bool& member,
                               const std::string& help) {
  return app.add_flag(flag, help)->each([&member, flag](const std::string& given) {
    assign(member, value_of_text(given), flag);
  });
}

// Adds `--flag VALUE` for a number or an enumeration.
template <class Member>
CLI::Option* add_value(CLI::App& app, const std::string& flag, Member& member,
                       const std::string& help) {
  const Value initial = to_value(member);
  const auto* text = std::get_if<std::string>(&initial);
  return app
      .add_option_function<std::string>(
          flag,
          [&member, flag](const std::string& given) { assign(member, value_of_text(given), flag); },
          help)
      ->type_name(kind_of(initial))
      ->default_str(text != nullptr ? *text : to_text(initial));
}

// Adds `--flag NUMBER` for a number within bounds.
template <class Number>
CLI::Option* add_number(CLI::App& app, const std::string& flag, Number& member,
                        const std::string& help, const Bounds& bounds) {
  CLI::Option* const option = add_value(app, flag, member, help);
  return option->each([flag, bounds](const std::string& given) {
    if (const auto number = parse_number<double>(given)) {
      check_bounds(flag, "a number", bounds, *number);
    }
  });
}

// Adds one flag per field of an options struct. The fields' bounds are checked by validate().
template <HasFields Options>
void add_field_flags(CLI::App& app, Options& options) {
  visit_fields(options, [&](const auto& field, auto& member) {
    const std::string flag = flag_of(field.name);
    const std::string help(field.help);
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, bool>) {
      add_switch(app, flag, member,
                 member ? fmt::format("{} (on; {}=false: off)", help, flag) : help);
    } else {
      add_value(app, flag, member, help);
    }
  });
}

}  // namespace sing::lab::command
