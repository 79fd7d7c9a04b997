// Changing a group's options after construction.
#include "sing/optim/optimizer.hpp"

namespace sing {

const Options& Optimizer::options(std::size_t group) const {
  SING_CHECK(
      group < groups_.size(), "[optimizer] wanted a group below ", groups_.size(), ", got ", group);
  return groups_[group].options;
}

void Optimizer::set_option(std::size_t group, std::string_view name, const Value& value) {
  Options changed = options(group);
  SING_CHECK(name != "non_finite", "[optimizer] non_finite is one for the whole optimizer");
  sing::set_option(changed, name, value);
  replace_options(group, changed);
}

// Which arrays exist was decided when state was allocated, so what decides it must stay.
void Optimizer::check_replacement(std::size_t group, const Options& changed) const {
  validate(changed);
  for (const Record& record : parameters_) {
    if (record.group == group) {
      check_parameter(record.parameter, changed);
      SING_CHECK(state_shapes(record, changed) == state_shapes(record),
                 "[optimizer] group ",
                 group,
                 " is ",
                 name_of(groups_[group].options.rule),
                 ", got ",
                 name_of(changed.rule),
                 "; rule, momentum, lookahead and master_weights decide which state exists and "
                 "cannot change");
    }
  }
}

void Optimizer::replace_options(std::size_t group, Options changed) {
  check_replacement(group, changed);
  groups_[group].options = changed;
  refresh_group_step(group);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Record& record = parameters_[i];
    if (record.group == group) {
      record.layout =
          make_layout(record.parameter.shape, groups_[group].options.standardize.centralize_axis);
      refresh_tensor_step(i);
    }
  }
  version_ = next_version();
}

void Optimizer::set_learning_rate(double learning_rate) {
  SING_CHECK(learning_rate >= 0 && std::isfinite(learning_rate),
             "[optimizer] learning_rate must be at least 0 and finite, got ",
             learning_rate);
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    set_learning_rate(group, learning_rate);
  }
}

void Optimizer::set_learning_rate(std::size_t group, double learning_rate) {
  options(group);
  SING_CHECK(learning_rate >= 0 && std::isfinite(learning_rate),
             "[optimizer] learning_rate must be at least 0 and finite, got ",
             learning_rate);
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
             "[optimizer] the learning rate's factor must be at least 0 and finite, got ",
             factor);
  learning_rate_factor_ = factor;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    refresh_group_step(group);
  }
}

}  // namespace sing
