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
  for_each_form([&](std::string_view form, const Rule& /*made*/) { names.emplace_back(form); });
  return names;
}

Rule make_rule(std::string_view name) {
  std::optional<Rule> made;
  for_each_rule_type([&]<class Each>() {
    if (name == Each::kName) {
      made = Each{};
    }
  });
  for_each_form([&](std::string_view form, const Rule& rule) {
    if (name == form) {
      made = rule;
    }
  });
  SING_CHECK(made, "[rule] wanted the name of a rule, got '{}'{}", name,
             did_you_mean(name, rule_names()));
  return *made;
}

double learning_rate_of(const Rule& rule) {
  return std::visit([](const auto& each) { return each.learning_rate; }, rule);
}

double weight_decay_of(const Rule& rule) {
  return std::visit([](const auto& each) { return each.weight_decay; }, rule);
}

std::optional<double> clip_norm_of(const Rule& rule) {
  return std::visit(
      [](const auto& each) -> std::optional<double> {
        if constexpr (kClipsNorm<std::remove_cvref_t<decltype(each)>>) {
          return each.clip_norm;
        } else {
          return std::nullopt;
        }
      },
      rule);
}

}  // namespace sing
