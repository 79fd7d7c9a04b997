// Checks the appendix's remark on clipping: which kinds of clipping normalization cancels.
#include <cmath>

#include "lab/theory/claims.hpp"
#include "lab/theory/iterates.hpp"
#include "lab/theory/random_numbers.hpp"

namespace sing::lab::theory {
namespace {

const Shapes kTensors = {{4, 6}, {2, 3, 3}, {7}};
constexpr int kSteps = 20;
constexpr double kRate = 0.05;

// Scales a longer vector down to length `limit`.
void clip_norm(std::span<double> part, double limit) {
  const double size = norm(part);
  if (size > limit) {
    for (double& each : part) {
      each *= limit / size;
    }
  }
}

// Changes a gradient, given the point at which it was computed.
using Clip = std::function<void(const Vector& point, Vector& gradient)>;

void clip_globally(const Vector& /*point*/, Vector& gradient) { clip_norm(gradient, 1); }

void clip_by_layer(const Vector& /*point*/, Vector& gradient) {
  for_each_block(kTensors, gradient,
                 [](std::span<double> block, std::size_t) { clip_norm(block, 0.5); });
}

void clip_values(const Vector& /*point*/, Vector& gradient) {
  for (double& each : gradient) {
    each = std::clamp(each, -0.5, 0.5);
  }
}

// Brock et al. 2021, "High-performance large-scale image recognition without normalization": the
// norm of a row's gradient is at most 1 % of that of its weights.
void clip_by_unit(const Vector& point, Vector& gradient) {
  Vector limits;
  for_each_row(kTensors, point,
               [&](std::span<const double> row) { limits.push_back(0.01 * norm(row)); });
  std::size_t unit = 0;
  for_each_row(kTensors, gradient, [&](std::span<double> row) { clip_norm(row, limits[unit++]); });
}

struct Path {
  Vector end;
  double clipped = 0;  // share of steps in which the clipping changed the gradient
};

Path follow(const Method& method, const Clip& clip) {
  RandomNumbers random(Experiment::kClipping, 0);
  const Vector start = random.normals(size_of(kTensors));
  const Vector target = scaled(random.normals(size_of(kTensors)), 3);
  Iterates iterates(method, {.shapes = kTensors, .host = Sgd{.learning_rate = kRate}}, start);
  Path path;
  for (int step = 0; step < kSteps; ++step) {
    const Vector point = iterates.values();
    const Vector gradient = difference(point, target);
    Vector given = gradient;
    if (clip) {
      clip(point, given);
    }
    path.clipped += given == gradient ? 0 : 1.0 / kSteps;
    iterates.step(given);
  }
  path.end = iterates.values();
  return path;
}

// Measures the distance between the end points, in lengths of one tensor's path.
std::vector<Number> compare(const Method& method, const std::string& name, const Clip& clip) {
  const Vector plain = follow(method, nullptr).end;
  const Path path = follow(method, clip);
  return {close_to(name + ": share of steps clipped", path.clipped, 1, 1e-9),
          shown(name + ": difference at the end",
                norm(difference(path.end, plain)) / (kRate * kSteps))};
}

Evidence check_norms(const Method& method) {
  Evidence evidence;
  for (const auto& [name, clip] : {std::pair<std::string, Clip>{"global norm", clip_globally},
                                   {"layer norm", clip_by_layer}}) {
    for (Number& number : compare(method, name, clip)) {
      evidence.numbers.push_back(std::move(number));
    }
    evidence.numbers.back().high = 1e-13;  // a dozen roundings per step
  }
  return evidence;
}

Evidence check_values(const Method& method) {
  Evidence evidence;
  for (const auto& [name, clip] :
       {std::pair<std::string, Clip>{"value", clip_values}, {"unit-wise", clip_by_unit}}) {
    for (Number& number : compare(method, name, clip)) {
      evidence.numbers.push_back(std::move(number));
    }
    evidence.numbers.back().low = 0.05;
  }
  return evidence;
}

}  // namespace

std::vector<Claim> clipping_claims() {
  return {{"clipping", "clipping-norms",
           "Clipping by the global norm or by each tensor's norm before SING changes nothing.",
           "Twenty steps on three tensors with and without clipping, at limits that every step "
           "exceeds.",
           check_norms},
          {"clipping", "clipping-values",
           "Clipping by value and unit-wise adaptive clipping change the steps, because they do "
           "not multiply a whole tensor by one number.",
           "As for clipping-norms.", check_values}};
}

}  // namespace sing::lab::theory
