// The options of one parameter group.
#include "adapters/torch/group_options.hpp"

#include <cmath>

#include "sing/base/message.hpp"

namespace sing::torch {

GroupOptions::GroupOptions(Overrides overrides, std::vector<std::string> names)
    : overrides_(std::move(overrides)), names_(std::move(names)) {}

double GroupOptions::get_lr() const {
  SING_CHECK(learning_rate_,
             "[torch] wanted a group that was added to an optimizer, got one without a "
             "learning rate");
  return *learning_rate_;
}

void GroupOptions::set_lr(double learning_rate) {
  SING_CHECK(learning_rate >= 0 && std::isfinite(learning_rate),
             "[torch] wanted a learning rate that is finite and at least 0, got {}", learning_rate);
  learning_rate_ = learning_rate;
}

}  // namespace sing::torch
