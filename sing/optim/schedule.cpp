// The formulas of the schedules, and access to their options by name.
#include "sing/optim/schedule.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <optional>

#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"

namespace sing {
namespace {

std::optional<double> warmup_factor(std::int64_t step, std::int64_t warmup_steps) {
  if (step >= warmup_steps) {
    return std::nullopt;
  }
  return static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
}

// The fraction of the way from `begin` to `end` that `step` has covered; 1 from `end` on.
double progress(std::int64_t step, std::int64_t begin, std::int64_t end) {
  if (step >= end) {
    return 1;
  }
  return static_cast<double>(step - begin) / static_cast<double>(end - begin);
}

// Both give exactly `final_factor` at x = 1: the rounded cos π is −1.
double cosine_fall(double x, double final_factor) {
  const double remaining = 0.5 * (1 + std::cos(std::numbers::pi * x));
  return final_factor + (1 - final_factor) * remaining;
}

double linear_fall(double x, double final_factor) {
  return final_factor + (1 - final_factor) * (1 - x);
}

std::optional<Knot> parse_knot(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  text = first == std::string_view::npos ? std::string_view{} : text.substr(first);
  text = text.substr(0, text.find_last_not_of(' ') + 1);
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  const auto step = parse_number<std::int64_t>(text.substr(0, colon));
  const auto factor = parse_number<double>(text.substr(colon + 1));
  return step && factor ? std::optional<Knot>({*step, *factor}) : std::nullopt;
}

template <class Kind>
std::string where_of() {
  return fmt::format("schedule {}", Kind::kName);
}

void check_lengths(std::string_view where, std::int64_t before_fall, std::int64_t total_steps) {
  SING_CHECK(before_fall <= total_steps,
             "[{}] wanted total_steps of at least the {} steps before the fall, got {}", where,
             before_fall, total_steps);
}

void check_knots(std::string_view where, const std::vector<Knot>& knots) {
  SING_CHECK(!knots.empty(), "[{}] wanted at least one knot, got none", where);
  for (std::size_t i = 0; i < knots.size(); ++i) {
    SING_CHECK(knots[i].step >= 0, "[{}] wanted knot {} at step 0 or later, got {}", where, i,
               knots[i].step);
    SING_CHECK(knots[i].factor >= 0 && std::isfinite(knots[i].factor),
               "[{}] wanted a factor of knot {} at least 0 and finite, got {}", where, i,
               knots[i].factor);
    SING_CHECK(i == 0 || knots[i - 1].step < knots[i].step,
               "[{}] wanted knots with increasing steps, got {} after {}", where, knots[i].step,
               knots[i - 1].step);
  }
}

// The sum of two counts, or the largest count instead of an overflow.
std::int64_t add_saturated(std::int64_t a, std::int64_t b) {
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  return b > largest - a ? largest : a + b;
}

}  // namespace

double ConstantSchedule::factor(std::int64_t /*step*/) const { return 1; }

double WarmupCosine::factor(std::int64_t step) const {
  return warmup_factor(step, warmup_steps)
      .value_or(cosine_fall(progress(step, warmup_steps, total_steps), final_factor));
}

double WarmupHoldCosine::factor(std::int64_t step) const {
  const std::int64_t fall = add_saturated(warmup_steps, hold_steps);
  if (step >= warmup_steps && step < fall) {
    return 1;
  }
  return warmup_factor(step, warmup_steps)
      .value_or(cosine_fall(progress(step, fall, total_steps), final_factor));
}

double WarmupInverseSquareRoot::factor(std::int64_t step) const {
  const double scale = static_cast<double>(std::max<std::int64_t>(warmup_steps, 1));
  return warmup_factor(step, warmup_steps)
      .value_or(std::sqrt(scale / (static_cast<double>(step) + 1)));
}

double WarmupLinear::factor(std::int64_t step) const {
  return warmup_factor(step, warmup_steps)
      .value_or(linear_fall(progress(step, warmup_steps, total_steps), final_factor));
}

double PiecewiseLinear::factor(std::int64_t step) const {
  const auto next =
      std::upper_bound(knots.begin(), knots.end(), step,
                       [](std::int64_t at, const Knot& knot) { return at < knot.step; });
  if (next == knots.begin()) {
    return knots.empty() ? 1 : knots.front().factor;
  }
  const Knot& before = *(next - 1);
  if (next == knots.end()) {
    return before.factor;
  }
  const double x = progress(step, before.step, next->step);
  return before.factor + (next->factor - before.factor) * x;
}

Value to_value(const std::vector<Knot>& knots) {
  std::string text;
  for (const Knot& knot : knots) {
    text += text.empty() ? "" : ",";
    text += std::to_string(knot.step) + ":" + shortest_text(knot.factor);
  }
  return text;
}

void assign(std::vector<Knot>& knots, const Value& value, std::string_view where) {
  const auto* text = std::get_if<std::string>(&value);
  const std::string wanted = fmt::format("[{}] wanted step:factor,step:factor,…, got ", where);
  SING_CHECK(text != nullptr, "{}{}", wanted, to_text(value));
  std::vector<Knot> parsed;
  std::size_t begin = 0;
  while (begin <= text->size()) {
    const std::size_t end = std::min(text->find(',', begin), text->size());
    const auto knot = parse_knot(std::string_view(*text).substr(begin, end - begin));
    SING_CHECK(knot, "{}{}", wanted, to_text(value));
    parsed.push_back(*knot);
    begin = end + 1;
  }
  knots = std::move(parsed);
}

double Schedule::factor(std::int64_t step) const {
  SING_CHECK(step >= 0, "[schedule] wanted a step of at least 0, got {}", step);
  return std::visit([&](const auto& each) { return each.factor(step); }, kind);
}

std::string_view name_of(const Schedule& schedule) {
  return std::visit([](const auto& each) { return each.kName; }, schedule.kind);
}

namespace {

// Every kind with its default options, in the order of the variant.
std::vector<Schedule> all_schedules() {
  std::vector<Schedule> all;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (all.push_back({Schedule::Kind(std::in_place_index<I>)}), ...);
  }(std::make_index_sequence<std::variant_size_v<Schedule::Kind>>{});
  return all;
}

}  // namespace

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const Schedule& each : all_schedules()) {
    names.emplace_back(name_of(each));
  }
  return names;
}

Schedule make_schedule(std::string_view name) {
  for (Schedule& each : all_schedules()) {
    if (name_of(each) == name) {
      return std::move(each);
    }
  }
  throw std::invalid_argument(fmt::format("[schedule] wanted the name of a schedule, got '{}'{}",
                                          name, did_you_mean(name, schedule_names())));
}

std::vector<OptionInfo> list_options(const Schedule& schedule) {
  return std::visit([](const auto& kind) { return list_fields(kind); }, schedule.kind);
}

void set_option(Schedule& schedule, std::string_view name, const Value& value) {
  const bool found =
      std::visit([&](auto& kind) { return assign_field(kind, name, value); }, schedule.kind);
  SING_CHECK(found, "[schedule] wanted an option of schedule '{}', got '{}'{}", name_of(schedule),
             name, did_you_mean(name, names_of(list_options(schedule))));
}

void validate(const Schedule& schedule) {
  std::visit(
      [](const auto& kind) {
        using Kind = std::remove_cvref_t<decltype(kind)>;
        const std::string where = where_of<Kind>();
        validate(kind, where);
        if constexpr (std::is_same_v<Kind, WarmupHoldCosine>) {
          check_lengths(where, add_saturated(kind.warmup_steps, kind.hold_steps), kind.total_steps);
        } else if constexpr (requires { kind.total_steps; }) {
          check_lengths(where, kind.warmup_steps, kind.total_steps);
        } else if constexpr (requires { kind.knots; }) {
          check_knots(where, kind.knots);
        }
      },
      schedule.kind);
}

}  // namespace sing
