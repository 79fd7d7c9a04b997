// The optimizers that have a name: every rule alone, and SING and gradient centralization around
// it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sing/optim/options.hpp"

namespace sing {

// The prefixes of a rule's name. "sing-lion" is SING as published: centralized gradients of unit
// norm, LookAhead and, for AdamW and AdaBelief, softplus. "plugsing-lion" is plug-and-play SING:
// the unchanged rule on gradients of unit norm. "gc-lion" is the rule on centralized gradients.
inline constexpr std::string_view kSingPrefix = "sing-";
inline constexpr std::string_view kPlugSingPrefix = "plugsing-";
inline constexpr std::string_view kCentralizePrefix = "gc-";

// The names of the rules and forms that train: all but "gradient".
std::vector<std::string> trained_rule_names();

// Lists every rule of trained_rule_names() four times: alone, and behind each prefix.
std::vector<std::string> optimizer_names();

// The options that a name stands for. A rule alone, or behind "plugsing-" or "gc-", has the options
// of its usual implementation: it decays tensors of every rank, AdamW has torch's learning rate and
// weight decay, and SGD has torch's learning rate and L2 decay. Throws std::invalid_argument for a
// name that is not in optimizer_names(), with the nearest name that is.
Options make_options(std::string_view name);

}  // namespace sing
