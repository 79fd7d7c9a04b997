// Names in messages.
#pragma once

#include <span>
#include <string>

namespace sing {

// "adamw, sgd, lion".
inline std::string joined_names(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

}  // namespace sing
