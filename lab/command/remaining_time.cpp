// Weighs the measured times.
#include "lab/command/remaining_time.hpp"

#include "sing/base/message.hpp"

namespace sing::lab::command {
namespace {

constexpr double kKept = 0.9;          // weight of the earlier records after each new one
constexpr double kLongSeconds = 1800;  // longer than a user expects to wait

std::string duration_text(double seconds) {
  constexpr double kHour = 3600;
  constexpr double kDay = 24 * kHour;
  if (seconds < 2 * kHour) {
    return fmt::format("{:.0f} minutes", seconds / 60);
  }
  return seconds < 2 * kDay ? fmt::format("{:.0f} hours", seconds / kHour)
                            : fmt::format("{:.0f} days", seconds / kDay);
}

}  // namespace

void RemainingTime::add(double steps, double seconds) {
  steps_ = kKept * steps_ + steps;
  seconds_ = kKept * seconds_ + seconds;
}

double RemainingTime::seconds_for(std::int64_t steps) const {
  return seconds_ / steps_ * static_cast<double>(steps);
}

std::string long_training_text(double seconds_per_step, std::int64_t steps_left,
                               std::string_view small_recipe) {
  const double left = seconds_per_step * static_cast<double>(steps_left);
  if (left < kLongSeconds) {
    return "";
  }
  return fmt::format(
      "the first step took {:.2g} s on this CPU: {} more will take about {}{}", seconds_per_step,
      steps_left, duration_text(left),
      small_recipe.empty() ? "" : fmt::format("; --config {} trains in minutes", small_recipe));
}

}  // namespace sing::lab::command
