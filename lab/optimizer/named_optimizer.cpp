// Defines the named optimizers and their tuned options.
#include "lab/optimizer/named_optimizer.hpp"

#include <algorithm>
#include <array>

#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"

namespace sing::lab::optimizer {
namespace {

constexpr std::string_view kSingPrefix = "sing-";
constexpr std::string_view kPlugSingPrefix = "plugsing-";
constexpr std::string_view kCentralizePrefix = "gc-";
constexpr double kSoftplusBeta = 50;

// The paper's table of the best hyper-parameters on RDE, with the better row where softplus was
// tried both ways.
struct Tuned {
  std::string_view rule;
  double learning_rate, weight_decay;
  double sing_learning_rate, sing_weight_decay;
  bool sing_softplus;
};
constexpr std::array<Tuned, 4> kTuned = {{{"adamw", 1e-3, 5e-2, 5e-2, 5e-2, true},
                                          {"sgd", 5e-1, 5e-5, 5e-1, 5e-3, false},
                                          {"adabelief", 1e-3, 5e-4, 5e-2, 5e-2, true},
                                          {"adafactor", 1e-2, 5e-4, 1e-2, 5e-4, false}}};

// Omits the rule that writes gradients instead of training.
std::vector<std::string> training_rules() {
  std::vector<std::string> names = rule_names();
  std::erase(names, std::string(Gradient::kName));
  return names;
}

void apply_tuning(Options& options, std::string_view rule, bool with_sing) {
  const auto tuned = std::find_if(kTuned.begin(), kTuned.end(),
                                  [&](const Tuned& each) { return each.rule == rule; });
  if (tuned == kTuned.end()) {
    return;  // keep the rule's defaults
  }
  set_option(options, "learning_rate",
             with_sing ? tuned->sing_learning_rate : tuned->learning_rate);
  set_option(options, "weight_decay", with_sing ? tuned->sing_weight_decay : tuned->weight_decay);
  if (with_sing && tuned->sing_softplus) {
    set_option(options, "softplus_beta", kSoftplusBeta);
  }
  if (auto* sgd = std::get_if<Sgd>(&options.rule)) {
    sgd->momentum = 0.9;
  }
}

}  // namespace

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names = training_rules();
  for (const std::string_view prefix : {kSingPrefix, kPlugSingPrefix, kCentralizePrefix}) {
    for (const std::string& rule : training_rules()) {
      names.push_back(fmt::format("{}{}", prefix, rule));
    }
  }
  return names;
}

std::string optimizer_help() {
  return fmt::format(
      "<rule>: the rule alone; {}<rule>: SING as published, on centralized gradients of unit norm "
      "with LookAhead and, where the paper uses it, softplus; {}<rule>: plug-and-play SING, the "
      "unchanged rule on gradients of unit norm, at the rule's own rate; {}<rule>: the rule on "
      "centralized gradients. Rules: {}",
      kSingPrefix, kPlugSingPrefix, kCentralizePrefix, joined_names(training_rules()));
}

Options make_optimizer_options(std::string_view name) {
  const std::vector<std::string> known = optimizer_names();
  SING_CHECK(std::find(known.begin(), known.end(), name) != known.end(),
             "[--optimizer] wanted one of {}, or one of them behind {}, {} or {}, got '{}'{}",
             joined_names(training_rules()), kSingPrefix, kPlugSingPrefix, kCentralizePrefix, name,
             did_you_mean(name, known));
  const bool with_sing = name.starts_with(kSingPrefix);
  const bool plugged = name.starts_with(kPlugSingPrefix);
  const bool centralizes = name.starts_with(kCentralizePrefix);
  const std::string_view rule = name.substr(with_sing     ? kSingPrefix.size()
                                            : plugged     ? kPlugSingPrefix.size()
                                            : centralizes ? kCentralizePrefix.size()
                                                          : 0);
  Options options;
  set_option(options, "rule", std::string(rule));
  if (!with_sing) {
    options.standardize.centralize = centralizes;
    options.standardize.normalize = plugged ? Normalize::kUnitNorm : Normalize::kOff;
    options.lookahead.reset();
  }
  apply_tuning(options, rule, with_sing);
  return options;
}

std::vector<OptionInfo> all_optimizer_options() {
  std::vector<OptionInfo> all;
  for (const std::string& rule : training_rules()) {
    Options options;
    options.rule = make_rule(rule);
    for (OptionInfo& info : list_options(options)) {
      const bool known = std::any_of(
          all.begin(), all.end(), [&](const OptionInfo& each) { return each.name == info.name; });
      if (!known && info.name != "rule") {
        all.push_back(std::move(info));
      }
    }
  }
  return all;
}

}  // namespace sing::lab::optimizer
