// Lists of names in messages, and the hint for a misspelled one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sing {

// "adamw, sgd, lion".
std::string joined_names(std::span<const std::string> names);

// "; did you mean 'adamw'?", or "" when no known name is close.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

}  // namespace sing
