// Lists every rule with each of its switches changed, from the list of all rules, so that a new
// rule is tested without further code.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "sing/rule/rules.hpp"

namespace sing::test {

struct RuleVariant {
  std::string name;
  Rule rule;
};

// Sets L2 decay, which adds a share of the parameter to the rule's gradient.
template <class R>
bool has_l2_decay(const R& rule) {
  if constexpr (requires { rule.decoupled_decay; }) {
    return !rule.decoupled_decay && rule.weight_decay > 0;
  } else {
    return false;
  }
}

// Where the two parts of an L2 gradient cancel, only rounding errors remain, and a rule that
// divides by root + epsilon magnifies them by 1 / epsilon. A larger epsilon prevents that.
template <class R>
R with_gentle_epsilon(R rule) {
  if constexpr (requires { rule.epsilon; }) {
    if (has_l2_decay(rule) && rule.epsilon < 1e-2) {
      rule.epsilon = 1e-2;
    }
  }
  return rule;
}

// Sets a rate large enough that an update is many units in the last place of any parameter type.
template <class R>
R strong_rule() {
  R rule;
  visit_fields(rule, [](const auto& each, auto& member) {
    if constexpr (std::is_same_v<std::remove_reference_t<decltype(member)>, double>) {
      if (each.name == "learning_rate") {
        member = 0.0625;
      } else if (each.name == "weight_decay") {
        member = 0.25;
      } else if (each.name == "momentum") {
        member = 0.875;
      } else if (each.name == "epsilon" && member > 1e-5) {
        member = 1;  // a smaller one could make the step large where it is added to 0
      }
    }
  });
  return with_gentle_epsilon(rule);
}

inline std::vector<RuleVariant> rule_variants() {
  std::vector<RuleVariant> variants;
  for_each_rule_type([&]<class R>() {
    const std::string name(R::kName);
    const R strong = strong_rule<R>();
    variants.push_back({name, strong});
    visit_fields(strong, [&](const auto& each, const auto& member) {
      using Member = std::remove_cvref_t<decltype(member)>;
      R changed = strong;
      if constexpr (std::is_same_v<Member, bool>) {
        changed.*(each.member) = !member;
        variants.push_back({name + " " + std::string(each.name), with_gentle_epsilon(changed)});
      } else if constexpr (std::is_same_v<Member, std::optional<double>>) {
        changed.*(each.member) = member ? std::nullopt : std::optional<double>(50.0);
        variants.push_back({name + " " + std::string(each.name), changed});
      } else if constexpr (std::is_same_v<Member, double>) {
        if (each.name == "momentum") {
          changed.*(each.member) = 0;
          variants.push_back({name + " without momentum", changed});
        }
      }
    });
  });
  return variants;
}

// Returns one variant per rule, for tests that do not depend on switches.
inline std::vector<RuleVariant> all_rules() {
  std::vector<RuleVariant> rules;
  for_each_rule_type(
      [&]<class R>() { rules.push_back({std::string(R::kName), strong_rule<R>()}); });
  return rules;
}

}  // namespace sing::test
