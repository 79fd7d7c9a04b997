// Learning-rate schedules: pure functions from a step's number to a factor of the learning rate.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sing/optim/options.hpp"

namespace sing {

// Steps count from 0. Every kind with a warm-up of w > 0 steps gives (t + 1) / w to the steps
// t < w, so that the first step moves and step w − 1 is the first of full rate; w = 0 starts at 1.
// Every kind with `total_steps` reaches its final factor at step total_steps, one after the last,
// and holds it from there on.

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
    return std::tuple{
        field("warmup_steps", &WarmupCosine::warmup_steps, "steps of linear rise", at_least(0)),
        field("total_steps", &WarmupCosine::total_steps,
              "steps until the final factor, warm-up included", at_least(1)),
        field("final_factor", &WarmupCosine::final_factor, "factor from total_steps on",
              between(0, 1))};
  }
  double factor(std::int64_t step) const;
};

// As WarmupCosine, but full rate for `hold_steps` between the rise and the fall.
struct WarmupHoldCosine {
  std::int64_t warmup_steps = 0;
  std::int64_t hold_steps = 0;
  std::int64_t total_steps = 0;
  double final_factor = 0;

  static constexpr std::string_view kName = "warmup_hold_cosine";
  static constexpr auto fields() {
    return std::tuple{
        field("warmup_steps", &WarmupHoldCosine::warmup_steps, "steps of linear rise", at_least(0)),
        field("hold_steps", &WarmupHoldCosine::hold_steps, "steps of full rate after the rise",
              at_least(0)),
        field("total_steps", &WarmupHoldCosine::total_steps,
              "steps until the final factor, warm-up and hold included", at_least(1)),
        field("final_factor", &WarmupHoldCosine::final_factor, "factor from total_steps on",
              between(0, 1))};
  }
  double factor(std::int64_t step) const;
};

// √(w / (t + 1)) after the rise (Vaswani et al. 2017, section 5.3); w = 0 falls as w = 1 does.
struct WarmupInverseSquareRoot {
  std::int64_t warmup_steps = 0;

  static constexpr std::string_view kName = "warmup_inverse_square_root";
  static constexpr auto fields() {
    return std::tuple{field("warmup_steps", &WarmupInverseSquareRoot::warmup_steps,
                            "steps of linear rise", at_least(0))};
  }
  double factor(std::int64_t step) const;
};

// 1 − (1 − final) · (t − w) / (total − w).
struct WarmupLinear {
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 0;
  double final_factor = 0;

  static constexpr std::string_view kName = "warmup_linear";
  static constexpr auto fields() {
    return std::tuple{
        field("warmup_steps", &WarmupLinear::warmup_steps, "steps of linear rise", at_least(0)),
        field("total_steps", &WarmupLinear::total_steps,
              "steps until the final factor, warm-up included", at_least(1)),
        field("final_factor", &WarmupLinear::final_factor, "factor from total_steps on",
              between(0, 1))};
  }
  double factor(std::int64_t step) const;
};

struct Knot {
  std::int64_t step = 0;
  double factor = 1;
  bool operator==(const Knot&) const = default;
};

// Straight lines between the knots; the first knot's factor before it, the last one's after it.
struct PiecewiseLinear {
  std::vector<Knot> knots;

  static constexpr std::string_view kName = "piecewise_linear";
  static constexpr auto fields() {
    return std::tuple{field("knots", &PiecewiseLinear::knots,
                            "step:factor pairs in rising order of steps, as in 0:1,100:0.5")};
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

  // What the learning rate of step `step` (from 0) is multiplied by; for a schedule that passes
  // validate(). Throws std::invalid_argument for a negative step.
  double factor(std::int64_t step) const;
};

std::string_view name_of(const Schedule& schedule);
std::vector<std::string> schedule_names();

// The schedule of that name with its default options, which validate() may refuse until they are
// set; an unknown name is an error that names the nearest known one.
Schedule make_schedule(std::string_view name);

std::vector<OptionInfo> list_options(const Schedule& schedule);
// Throws std::invalid_argument for an unknown name (naming the nearest) or a wrong kind of value.
void set_option(Schedule& schedule, std::string_view name, const Value& value);

// Throws std::invalid_argument if a value is out of its bounds, if the warm-up and hold are longer
// than the whole, or if knots are missing or out of order.
void validate(const Schedule& schedule);

}  // namespace sing
