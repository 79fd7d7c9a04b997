// The fields of a task's option structs as one list.
#pragma once

#include <string>
#include <vector>

#include "sing/base/fields.hpp"
#include "sing/optim/options.hpp"

namespace sing::lab {

template <HasFields... Structs>
std::vector<OptionInfo> option_list(const Structs&... structs) {
  std::vector<OptionInfo> list;
  const auto add = [&](const auto& field, const auto& member) {
    list.push_back({std::string(field.name), std::string(field.help), to_value(member)});
  };
  (visit_fields(structs, add), ...);
  return list;
}

}  // namespace sing::lab
