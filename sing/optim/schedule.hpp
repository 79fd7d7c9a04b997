// Learning-rate schedules: pure functions from a step's number to a factor of the learning rate.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sing/optim/options.hpp"

namespace sing {

// Steps count from 0. A schedule with a warm-up of w > 0 steps gives (t + 1) / w to the steps t <
// w: the first step has a rate above 0, and step w − 1 is the first with the full rate. Without a
// warm-up the first step has the full rate. A schedule with `total_steps` reaches its final factor
// at step total_steps, one after the last step, and keeps it from there on.

// The field of a schedule with a warm-up.
template <class Kind>
constexpr auto warmup_field() {
  return std::tuple{
      field("warmup_steps", &Kind::warmup_steps, "steps of the linear warm-up", at_least(0))};
}

// The fields of a schedule that falls to a final factor.
template <class Kind>
constexpr auto end_fields() {
  return std::tuple{
      field("total_steps", &Kind::total_steps,
            "steps from the start until the final factor is reached", at_least(1)),
      field("final_factor", &Kind::final_factor, "factor from total_steps on", between(0, 1))};
}

struct ConstantSchedule {
  static constexpr std::string_view kName = "constant";
  static constexpr auto fields() { return std::tuple<>{}; }
  double factor(std::int64_t step) const;
};

// final + (1 − final) · (1 + cos πx) / 2 with x = (t − w) / (total − w).
struct WarmupCosine {
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 0;
  double final_factor = 0;

  static constexpr std::string_view kName = "warmup_cosine";
  static constexpr auto fields() {
    return std::tuple_cat(warmup_field<WarmupCosine>(), end_fields<WarmupCosine>());
  }
  double factor(std::int64_t step) const;
};

// WarmupCosine with the full rate for `hold_steps` steps between warm-up and fall.
struct WarmupHoldCosine {
  std::int64_t warmup_steps = 0;
  std::int64_t hold_steps = 0;
  std::int64_t total_steps = 0;
  double final_factor = 0;

  static constexpr std::string_view kName = "warmup_hold_cosine";
  static constexpr auto fields() {
    return std::tuple_cat(
        warmup_field<WarmupHoldCosine>(),
        std::tuple{field("hold_steps", &WarmupHoldCosine::hold_steps,
                         "steps of the full rate after the warm-up", at_least(0))},
        end_fields<WarmupHoldCosine>());
  }
  double factor(std::int64_t step) const;
};

// √(w / (t + 1)) after the warm-up (Vaswani et al. 2017, section 5.3); w = 0 falls as w = 1 does.
struct WarmupInverseSquareRoot {
  std::int64_t warmup_steps = 0;

  static constexpr std::string_view kName = "warmup_inverse_square_root";
  static constexpr auto fields() { return warmup_field<WarmupInverseSquareRoot>(); }
  double factor(std::int64_t step) const;
};

// 1 − (1 − final) · (t − w) / (total − w).
struct WarmupLinear {
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 0;
  double final_factor = 0;

  static constexpr std::string_view kName = "warmup_linear";
  static constexpr auto fields() {
    return std::tuple_cat(warmup_field<WarmupLinear>(), end_fields<WarmupLinear>());
  }
  double factor(std::int64_t step) const;
};

// A point of a piecewise linear schedule.
struct Knot {
  std::int64_t step = 0;
  double factor = 1;
  bool operator==(const Knot&) const = default;
};

// Linear between the knots, constant before the first and after the last.
struct PiecewiseLinear {
  std::vector<Knot> knots;

  static constexpr std::string_view kName = "piecewise_linear";
  static constexpr auto fields() {
    return std::tuple{field("knots", &PiecewiseLinear::knots,
                            "step:factor pairs with increasing steps, for example 0:1,100:0.5")};
  }
  double factor(std::int64_t step) const;
};

// The text form of knots, "0:1,100:0.5".
Value to_value(const std::vector<Knot>& knots);
void assign(std::vector<Knot>& knots, const Value& value, std::string_view where);

struct Schedule {
  using Kind = std::variant<  //
      ConstantSchedule, WarmupCosine, WarmupHoldCosine, WarmupInverseSquareRoot, WarmupLinear,
      PiecewiseLinear>;
  Kind kind;

  // The factor of the learning rate in a step, counted from 0, for a schedule that passes
  // validate(). Throws std::invalid_argument for a negative step.
  double factor(std::int64_t step) const;
};

std::string_view name_of(const Schedule& schedule);
std::vector<std::string> schedule_names();

// The schedule of that name with its default options, which validate() may refuse until they are
// set. Throws std::invalid_argument for a name that is not in the list, with the nearest name that
// is.
Schedule make_schedule(std::string_view name);

std::vector<OptionInfo> list_options(const Schedule& schedule);
// Throws std::invalid_argument for an unknown name, with the nearest known one, and for a value of
// the wrong kind.
void set_option(Schedule& schedule, std::string_view name, const Value& value);

// Throws std::invalid_argument if a value is out of its bounds, if warm-up and hold are longer than
// the schedule, or if knots are missing or out of order.
void validate(const Schedule& schedule);

}  // namespace sing
