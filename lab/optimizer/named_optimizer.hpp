// Optimizers by the names that the program gives them: "adamw", "sing-adamw", …
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sing/optim/options.hpp"

namespace sing::lab::optimizer {

// Every rule three times: "<rule>" alone, "sing-<rule>" on centralized gradients of unit norm with
// LookAhead and, where the paper has it, softplus, and "gc-<rule>" on centralized gradients (GC).
// Learning rate and weight decay are those that the paper found best for a ViT-S on RDE (its table
// of the tuning), those of GC the rule's own; momentum is 0.9.
std::vector<std::string> optimizer_names();

// Throws std::invalid_argument naming the nearest known name.
Options make_optimizer_options(std::string_view name);

// Every option of any of the optimizers, once; the values mean nothing.
std::vector<OptionInfo> all_optimizer_options();

}  // namespace sing::lab::optimizer
