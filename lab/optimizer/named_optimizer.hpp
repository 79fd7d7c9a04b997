// The named optimizers of sing/optim/named_options.hpp with the rates that the paper tuned.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sing/optim/named_options.hpp"

namespace sing::lab::optimizer {

// Explains the names in one paragraph, for --help.
std::string optimizer_help();

// The options of make_options(name). AdamW, SGD, AdaBelief and AdaFactor have the learning rate and
// the weight decay of the paper's tuning for a ViT-S on RDE, with those of the rule alone for
// plug-and-play SING and gradient centralization; SGD's momentum is 0.9. Throws
// std::invalid_argument that names the nearest known name.
Options make_optimizer_options(std::string_view name);

// An option with the first of optimizer_names() that has it, and the default of that optimizer.
struct OptimizerOption {
  OptionInfo info;
  std::string optimizer;
};

// Lists every option of all optimizers once.
const std::vector<OptimizerOption>& all_optimizer_options();

}  // namespace sing::lab::optimizer
