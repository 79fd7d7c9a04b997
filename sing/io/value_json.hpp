// Option values as JSON, for state files, run folders and the Python package. This header is not
// installed, so that users of the library do not need a JSON library.
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

// Throws std::invalid_argument with the prefix `where` for an array or an object.
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
  SING_CHECK(json.is_null(), "[{}] wanted null, a boolean, a number or a string, got {}", where,
             json.dump());
  return std::monostate{};
}

}  // namespace sing
