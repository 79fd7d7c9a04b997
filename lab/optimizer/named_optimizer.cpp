// Defines the named optimizers and their tuned options.
#include "lab/optimizer/named_optimizer.hpp"

#include <algorithm>
#include <array>

#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"

namespace sing::lab::optimizer {
namespace {

// The paper's table of the best hyper-parameters on RDE.
struct Tuned {
  std::string_view rule;
  double learning_rate, weight_decay;
  double sing_learning_rate, sing_weight_decay;
};
constexpr std::array<Tuned, 4> kTuned = {{{"adamw", 1e-3, 5e-2, 5e-2, 5e-2},
                                          {"sgd", 5e-1, 5e-5, 5e-1, 5e-3},
                                          {"adabelief", 1e-3, 5e-4, 5e-2, 5e-2},
                                          {"adafactor", 1e-2, 5e-4, 1e-2, 5e-4}}};

void apply_tuning(Options& options, bool with_sing) {
  const std::string_view rule = name_of(options.rule);
  const auto tuned = std::find_if(kTuned.begin(), kTuned.end(),
                                  [&](const Tuned& each) { return each.rule == rule; });
  if (tuned == kTuned.end()) {
    return;  // keep the rule's defaults
  }
  set_option(options, "learning_rate",
             with_sing ? tuned->sing_learning_rate : tuned->learning_rate);
  set_option(options, "weight_decay", with_sing ? tuned->sing_weight_decay : tuned->weight_decay);
  if (auto* sgd = std::get_if<Sgd>(&options.rule)) {
    sgd->momentum = 0.9;
  }
}

}  // namespace

std::string optimizer_help() {
  return fmt::format(
      "<rule>: the rule alone; {}<rule>: SING as published, on centralized gradients of unit norm "
      "with LookAhead and, where the paper uses it, softplus; {}<rule>: plug-and-play SING, the "
      "unchanged rule on gradients of unit norm, at the rule's own rate; {}<rule>: the rule on "
      "centralized gradients. Rules: {}",
      kSingPrefix, kPlugSingPrefix, kCentralizePrefix, joined_names(trained_rule_names()));
}

Options make_optimizer_options(std::string_view name) {
  Options options = make_options(name);
  apply_tuning(options, name.starts_with(kSingPrefix));
  return options;
}

const std::vector<OptimizerOption>& all_optimizer_options() {
  static const std::vector<OptimizerOption> kAll = [] {
    std::vector<OptimizerOption> all;
    for (const std::string& name : optimizer_names()) {
      for (OptionInfo& info : list_options(make_optimizer_options(name))) {
        const bool known = std::any_of(all.begin(), all.end(), [&](const OptimizerOption& each) {
          return each.info.name == info.name;
        });
        if (!known && info.name != "rule") {
          all.push_back({std::move(info), name});
        }
      }
    }
    return all;
  }();
  return kAll;
}

}  // namespace sing::lab::optimizer
