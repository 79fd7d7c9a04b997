// Looks up values by name in lists that keep their order, such as scores and settings.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sing::lab::run {

// Returns the first value of that name, or `absent`.
template <class Value>
Value value_of(const std::vector<std::pair<std::string, Value>>& values, std::string_view name,
               Value absent) {
  const auto found = std::ranges::find(
      values, name, [](const auto& each) { return std::string_view(each.first); });
  return found != values.end() ? found->second : absent;
}

// Appends the names that `names` does not have yet.
template <class Value>
void add_names(const std::vector<std::pair<std::string, Value>>& values,
               std::vector<std::string>& names) {
  for (const auto& [name, value] : values) {
    if (std::ranges::find(names, name) == names.end()) {
      names.push_back(name);
    }
  }
}

}  // namespace sing::lab::run
