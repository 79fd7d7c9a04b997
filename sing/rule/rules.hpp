// The list of all update rules. A new rule is added to its end.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sing/rule/adabelief.hpp"
#include "sing/rule/adabound.hpp"
#include "sing/rule/adafactor.hpp"
#include "sing/rule/adamw.hpp"
#include "sing/rule/contrib/adahessian.hpp"
#include "sing/rule/contrib/adamod.hpp"
#include "sing/rule/contrib/adanorm.hpp"
#include "sing/rule/contrib/eadam.hpp"
#include "sing/rule/contrib/lars.hpp"
#include "sing/rule/contrib/sadam.hpp"
#include "sing/rule/gradient.hpp"
#include "sing/rule/lamb.hpp"
#include "sing/rule/lion.hpp"
#include "sing/rule/muon.hpp"
#include "sing/rule/nadam.hpp"
#include "sing/rule/radam.hpp"
#include "sing/rule/schedule_free_adamw.hpp"
#include "sing/rule/sgd.hpp"
#include "sing/rule/yogi.hpp"

namespace sing {

using Rule = std::variant<  //
    AdamW, Sgd, AdaBelief, AdaFactor, Gradient, NAdam, Yogi, RAdam, AdaBound, AdaMod, EAdam, SAdam,
    Lion, Lamb, Lars, AdaNorm, ScheduleFreeAdamW, Muon, AdaHessian>;

inline constexpr std::size_t kRuleCount = std::variant_size_v<Rule>;

// Calls visitor.template operator()<R>() for every rule type, in the order of the list.
template <class Visitor>
void for_each_rule_type(Visitor&& visitor) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (visitor.template operator()<std::variant_alternative_t<I, Rule>>(), ...);
  }(std::make_index_sequence<kRuleCount>{});
}

// Calls visitor(form) for every Form, the second name of a rule.
template <class Visitor>
void for_each_form(Visitor&& visitor) {
  for_each_rule_type([&]<class Each>() {
    if constexpr (kHasForms<Each>) {
      for (const Form<Each>& form : Each::kForms) {
        visitor(form);
      }
    }
  });
}

// The rule's own name, also if it was made under the name of a form.
std::string_view name_of(const Rule& rule);
// The names of the rules in the order of the list, followed by the names of their forms.
std::vector<std::string> rule_names();

// The rule or form of that name with its default options. Throws std::invalid_argument for a name
// that is not in the list, with the nearest name that is.
Rule make_rule(std::string_view name);

// The option clip_norm that goes with the name of a form; none for all other names.
std::optional<double> clip_norm_of_form(std::string_view name);

double learning_rate_of(const Rule& rule);
double weight_decay_of(const Rule& rule);
// The iteration that makes a tensor orthogonal; none if the rule does not do that. `factored` is
// whether the tensor has rank 2 or more.
std::optional<NewtonSchulz> newton_schulz_of(const Rule& rule, bool factored);

}  // namespace sing
