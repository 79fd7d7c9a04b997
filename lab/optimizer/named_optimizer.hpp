// Makes optimizers by the names that the program gives them: "adamw", "sing-adamw", …
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sing/optim/options.hpp"

namespace sing::lab::optimizer {

// Lists every rule four times: "<rule>" alone, "sing-<rule>" on centralized gradients of unit norm
// with LookAhead and, where the paper uses it, softplus, "plugsing-<rule>" unchanged on gradients
// of unit norm (plug-and-play SING), and "gc-<rule>" on centralized gradients (GC). Learning rate
// and weight decay are the best ones of the paper's tuning for a ViT-S on RDE, with those of
// "<rule>" for plug-and-play SING and GC; SGD's momentum is 0.9.
std::vector<std::string> optimizer_names();

// Explains the names in one paragraph, for --help.
std::string optimizer_help();

// Throws std::invalid_argument that names the nearest known name.
Options make_optimizer_options(std::string_view name);

// Lists every option of all optimizers once; the values are meaningless.
std::vector<OptionInfo> all_optimizer_options();

}  // namespace sing::lab::optimizer
