// The names of the rules, and access to the options that every rule has.
#include "sing/rule/rules.hpp"

#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"

namespace sing {

std::string_view name_of(const Rule& rule) {
  return std::visit([](const auto& each) { return each.kName; }, rule);
}

std::vector<std::string> rule_names() {
  std::vector<std::string> names;
  for_each_rule_type([&]<class Each>() { names.emplace_back(Each::kName); });
  for_each_form([&](const auto& form) { names.emplace_back(form.name); });
  return names;
}

Rule make_rule(std::string_view name) {
  std::optional<Rule> made;
  for_each_rule_type([&]<class Each>() {
    if (name == Each::kName) {
      made = Each{};
    }
  });
  for_each_form([&](const auto& form) {
    if (name == form.name) {
      made = form.make();
    }
  });
  SING_CHECK(made, "[rule] wanted the name of a rule, got '{}'{}", name,
             did_you_mean(name, rule_names()));
  return *made;
}

std::optional<double> clip_norm_of_form(std::string_view name) {
  std::optional<double> found;
  for_each_form([&](const auto& form) {
    if (name == form.name) {
      found = form.clip_norm;
    }
  });
  return found;
}

double learning_rate_of(const Rule& rule) {
  return std::visit([](const auto& each) { return each.learning_rate; }, rule);
}

double weight_decay_of(const Rule& rule) {
  return std::visit([](const auto& each) { return each.weight_decay; }, rule);
}

std::optional<NewtonSchulz> newton_schulz_of(const Rule& rule, bool factored) {
  return std::visit(
      [&]<class R>(const R& each) -> std::optional<NewtonSchulz> {
        if constexpr (kIsOrthogonal<R>) {
          return each.orthogonalizes(factored) ? std::optional(each.newton_schulz()) : std::nullopt;
        } else {
          return std::nullopt;
        }
      },
      rule);
}

}  // namespace sing
