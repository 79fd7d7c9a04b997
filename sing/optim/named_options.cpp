// Defines the options of the named optimizers.
#include "sing/optim/named_options.hpp"

#include <algorithm>

#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"

namespace sing {
namespace {

constexpr double kSoftplusBeta = 50;

// Sets torch's defaults where the rule's struct has those of a host in SING.
void take_torchs_defaults(Rule& rule) {
  if (auto* adamw = std::get_if<AdamW>(&rule)) {
    adamw->learning_rate = 1e-3;
    adamw->weight_decay = 1e-2;
  } else if (auto* sgd = std::get_if<Sgd>(&rule)) {
    sgd->learning_rate = 1e-3;
    sgd->decoupled_decay = false;
  }
}

void add_softplus(Rule& rule) {
  if (auto* adamw = std::get_if<AdamW>(&rule)) {
    adamw->softplus_beta = kSoftplusBeta;
  } else if (auto* adabelief = std::get_if<AdaBelief>(&rule)) {
    adabelief->softplus_beta = kSoftplusBeta;
  }
}

std::string without_prefix(std::string_view name) {
  for (const std::string_view prefix : {kSingPrefix, kPlugSingPrefix, kCentralizePrefix}) {
    if (name.starts_with(prefix)) {
      return std::string(name.substr(prefix.size()));
    }
  }
  return std::string(name);
}

}  // namespace

std::vector<std::string> trained_rule_names() {
  std::vector<std::string> names = rule_names();
  std::erase(names, std::string(Gradient::kName));
  return names;
}

std::vector<std::string> optimizer_names() {
  const std::vector<std::string> rules = trained_rule_names();
  std::vector<std::string> names = rules;
  for (const std::string_view prefix : {kSingPrefix, kPlugSingPrefix, kCentralizePrefix}) {
    for (const std::string& rule : rules) {
      names.push_back(fmt::format("{}{}", prefix, rule));
    }
  }
  return names;
}

Options make_options(std::string_view name) {
  const std::vector<std::string> known = optimizer_names();
  SING_CHECK(std::find(known.begin(), known.end(), name) != known.end(),
             "[optimizer] wanted one of {}, or one of them behind {}, {} or {}, got '{}'{}",
             joined_names(trained_rule_names()), kSingPrefix, kPlugSingPrefix, kCentralizePrefix,
             name, did_you_mean(name, known));
  Options options;
  set_option(options, "rule", without_prefix(name));
  if (name.starts_with(kSingPrefix)) {
    add_softplus(options.rule);
    return options;
  }
  take_torchs_defaults(options.rule);
  options.lookahead.reset();
  options.decay_vectors = true;
  options.standardize.centralize = name.starts_with(kCentralizePrefix);
  options.standardize.normalize =
      name.starts_with(kPlugSingPrefix) ? Normalize::kUnitNorm : Normalize::kOff;
  return options;
}

}  // namespace sing
