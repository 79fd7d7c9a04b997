// Changing a group's options after construction.
#include <algorithm>
#include <tuple>

#include "sing/base/message.hpp"
#include "sing/optim/optimizer.hpp"

namespace sing {

const Options& Optimizer::options(std::size_t group) const {
  SING_CHECK(group < groups_.size(), "[optimizer] wanted a group below {}, got {}", groups_.size(),
             group);
  return groups_[group].options;
}

Options Optimizer::changed_options(std::size_t group, const Overrides& overrides) const {
  Options changed = options(group);
  for (const auto& [name, value] : overrides) {
    SING_CHECK(name != "non_finite", "[optimizer] non_finite is one for the whole optimizer");
    sing::set_option(changed, name, value);
  }
  return changed;
}

void Optimizer::set_options(std::size_t group, const Overrides& overrides) {
  replace_options(group, changed_options(group, overrides));
}

void Optimizer::set_option(std::size_t group, std::string_view name, const Value& value) {
  set_options(group, {{std::string(name), value}});
}

void Optimizer::check_options(std::size_t group, const Overrides& overrides) const {
  check_replacement(group, changed_options(group, overrides));
}

// Which arrays exist was decided when state was allocated, so what decides it must stay; and what
// one rule keeps means nothing to another, even under the same name.
void Optimizer::check_replacement(std::size_t group, const Options& changed) const {
  validate(changed);
  const Options& present = groups_[group].options;
  SING_CHECK(changed.rule.index() == present.rule.index(),
             "[optimizer] group {} is {}, got {}; the rule cannot change", group,
             name_of(present.rule), name_of(changed.rule));
  for (const Record& record : parameters_) {
    if (record.group == group) {
      check_parameter(record.parameter, changed);
      const std::vector<StateShape> kept = state_shapes(record);
      const std::vector<StateShape> wanted = state_shapes(record, changed);
      if (kept == wanted) {
        continue;
      }
      // One list begins as the other does, or is without one of its arrays.
      const bool is_added = wanted.size() > kept.size();
      const auto& [more, less] = is_added ? std::tie(wanted, kept) : std::tie(kept, wanted);
      const auto differs = std::mismatch(less.begin(), less.end(), more.begin()).second;
      throw std::invalid_argument(
          fmt::format("[optimizer] group {}: what decides which state exists cannot change, these "
                      "options would {}{}' of '{}'",
                      group, is_added ? "add '" : "drop '", differs->slot, record.parameter.name));
    }
  }
}

void Optimizer::replace_options(std::size_t group, Options changed) {
  check_replacement(group, changed);
  const std::int64_t previous_axis = groups_[group].options.standardize.centralize_axis;
  groups_[group].options = changed;
  refresh_group_step(group);
  if (changed.standardize.centralize_axis == previous_axis) {
    return;
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Record& record = parameters_[i];
    if (record.group == group) {
      record.layout = layout_of(record.parameter, changed.standardize.centralize_axis);
      refresh_tensor_step(i);
    }
  }
  version_ = next_version();
}

void Optimizer::set_learning_rate(double learning_rate) {
  SING_CHECK(learning_rate >= 0 && std::isfinite(learning_rate),
             "[optimizer] learning_rate must be at least 0 and finite, got {}", learning_rate);
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    set_learning_rate(group, learning_rate);
  }
}

void Optimizer::set_learning_rate(std::size_t group, double learning_rate) {
  options(group);
  SING_CHECK(learning_rate >= 0 && std::isfinite(learning_rate),
             "[optimizer] learning_rate must be at least 0 and finite, got {}", learning_rate);
  std::visit([&](auto& rule) { rule.learning_rate = learning_rate; }, groups_[group].options.rule);
  refresh_group_step(group);
}

void Optimizer::set_learning_rate_source(std::size_t group, const float* source) {
  options(group);
  groups_[group].learning_rate_source = source;
  refresh_group_step(group);
}

void Optimizer::set_non_finite(NonFinite policy) {
  defaults_.non_finite = policy;
  for (Group& group : groups_) {
    group.options.non_finite = policy;
  }
}

void Optimizer::set_learning_rate_factor(double factor) {
  SING_CHECK(factor >= 0 && std::isfinite(factor),
             "[optimizer] the learning rate's factor must be at least 0 and finite, got {}",
             factor);
  learning_rate_factor_ = factor;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    refresh_group_step(group);
  }
}

}  // namespace sing
