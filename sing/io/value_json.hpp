// Option values as JSON: what state files, run directories and the Python package write. For the
// project's own files: users of the library need no JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "sing/base/fields.hpp"
#include "sing/base/message.hpp"

namespace sing {

inline nlohmann::ordered_json to_json(const Value& value) {
  return std::visit(
      []<class T>(const T& each) -> nlohmann::ordered_json {
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else {
          return each;
        }
      },
      value);
}

// `where` begins the message about anything but null, a truth value, a number or a text.
inline Value from_json(const nlohmann::ordered_json& json, std::string_view where) {
  if (json.is_boolean()) {
    return json.get<bool>();
  }
  if (json.is_number_integer()) {
    return json.get<std::int64_t>();
  }
  if (json.is_number()) {
    return json.get<double>();
  }
  if (json.is_string()) {
    return json.get<std::string>();
  }
  SING_CHECK(json.is_null(), "[{}] wanted a plain value, got {}", where, json.dump());
  return std::monostate{};
}

}  // namespace sing
