// Checks Theorem 3.2: gradient scales do not matter, and row means do not change.
#include <cmath>

#include "lab/theory/claims.hpp"
#include "lab/theory/iterates.hpp"
#include "lab/theory/random_numbers.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::theory {
namespace {

const Shapes kShapes = {{4, 6}, {2, 3, 3}, {7}};
constexpr int kComparedSteps = 6;
constexpr double kComparedRate = 0.25;

// The elements have magnitudes in (¼, 1) and fixed signs, so that 16-bit types can hold the
// gradient over nearly their whole range. They change by at most ⅜ of the change of x.
Vector bounded_gradient(const Vector& x) {
  Vector gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double size = 0.625 + 0.375 * x[i] / std::sqrt(1 + x[i] * x[i]);
    gradient[i] = i % 3 == 1 ? -size : size;
  }
  return gradient;
}

Vector random_start() {
  RandomNumbers random(Experiment::kInvariance, 0);
  Vector start(size_of(kShapes));
  for (double& each : start) {
    each = random.uniform(-0.5, 0.5);
  }
  return start;
}

// Returns the point after kComparedSteps of SING with an SGD host when tensor k's gradient is
// multiplied by factors[k].
Vector end_point(const Method& method, Dtype dtype, const Vector& factors) {
  Iterates iterates(
      method, {.shapes = kShapes, .dtype = dtype, .host = Sgd{.learning_rate = kComparedRate}},
      random_start());
  for (int step = 0; step < kComparedSteps; ++step) {
    Vector gradient = bounded_gradient(iterates.values());
    std::size_t tensor = 0;
    for_each_block(kShapes, gradient, [&](std::span<double> block, std::size_t) {
      for (double& each : block) {
        each *= factors[tensor];
      }
      ++tensor;
    });
    iterates.step(gradient);
  }
  return iterates.values();
}

struct Precision {
  Dtype dtype;
  double unit;      // half the distance between 1 and the next number
  double sum_unit;  // the same for the type of the sums
  double smallest;  // smallest factor
  int orders;       // orders of magnitude between the smallest and largest factor
};

// The squares of float32 must fit in float32. For float16, ¼ of the smallest factor and the largest
// factor must be normal numbers, between 2⁻¹⁴ and 65504.
constexpr Precision kPrecisions[] = {{Dtype::kFloat64, 0x1p-53, 0x1p-53, 1e-15, 30},
                                     {Dtype::kFloat32, 0x1p-24, 0x1p-24, 1e-13, 30},
                                     {Dtype::kBFloat16, 0x1p-8, 0x1p-24, 1e-13, 30},
                                     {Dtype::kFloat16, 0x1p-11, 0x1p-24, 2.5e-4, 8}};

// Bounds the difference between two runs of kComparedSteps that differ only in rounding. In each
// step of a run, an element of the parameter, which is below 2, is rounded by at most one unit. The
// standardized gradient is rounded by one unit itself, by ‖g‖/‖c‖ ≤ 4.3 units from the gradient
// (the signs keep the norms of the centered c above 1.15, 1 and 0.66), and by 16 units of the sums.
// Earlier differences grow by a factor of at most 1 + kComparedRate · ⅜ / 0.66.
double allowed_difference(const Precision& precision) {
  const double once =
      2 * (precision.unit + kComparedRate * (5.3 * precision.unit + 16 * precision.sum_unit));
  double sum = 0;
  for (int step = 0; step < kComparedSteps; ++step) {
    sum = sum * (1 + kComparedRate * 0.375 / 0.66) + once;
  }
  return sum;
}

// Returns one factor for all tensors, or a different one for each.
Vector factors_of(double factor, double opposite, bool each_tensor_its_own) {
  return each_tensor_its_own ? Vector{factor, 1, opposite} : Vector(kShapes.size(), factor);
}

double power_of_two_below(double value) { return std::ldexp(1.0, std::ilogb(value)); }

std::vector<Number> compare(const Method& method, bool each_tensor_its_own) {
  std::vector<Number> numbers;
  for (const Precision& precision : kPrecisions) {
    const Vector plain = end_point(method, precision.dtype, Vector(kShapes.size(), 1.0));
    const auto apart = [&](double factor, double opposite) {
      const Vector factors = factors_of(factor, opposite, each_tensor_its_own);
      return largest(difference(end_point(method, precision.dtype, factors), plain));
    };
    double twos = 0;
    double tens = 0;
    for (int order = 0; order <= precision.orders; ++order) {
      const double factor = precision.smallest * std::pow(10.0, order);
      const double opposite = precision.smallest * std::pow(10.0, precision.orders - order);
      tens = std::max(tens, apart(factor, opposite));
      twos = std::max(twos, apart(power_of_two_below(factor), power_of_two_below(opposite)));
    }
    const std::string what =
        fmt::format("{}, {} orders: ", name_of(precision.dtype), precision.orders);
    numbers.push_back(exactly(what + "largest difference, powers of two", twos, 0));
    numbers.push_back(
        at_most(what + "largest difference, powers of ten", tens, allowed_difference(precision)));
  }
  return numbers;
}

Evidence check_scale(const Method& method) {
  std::vector<Number> numbers = compare(method, false);
  const Vector moved =
      difference(end_point(method, Dtype::kFloat64, Vector(kShapes.size(), 1.0)), random_start());
  numbers.push_back(at_least("for comparison: largest movement", largest(moved), 0.2));
  return {numbers};
}

Evidence check_layers(const Method& method) { return {compare(method, true)}; }

Evidence check_epsilon(const Method& method) {
  const Shapes shapes = {{2, 4}};
  BlockStandardizer standardized(method, shapes, Standardize{});
  const Vector direction = scaled({1, -1, 0, 0, 0, 0, 2, -2}, 1 / std::sqrt(10.0));
  double error = 0;
  std::vector<Number> numbers;
  for (int power = -14; power <= 2; ++power) {
    const double size = std::pow(10.0, power);
    const double measured = norm(standardized(scaled(direction, size)));
    error = std::max(error, std::abs(measured / (size / (size + 1e-8)) - 1));
    if (power == -8 || power == -6) {
      numbers.push_back(shown(fmt::format("norm of the result at ‖g‖ = 1e{}", power), measured));
    }
  }
  numbers.push_back(at_most("largest relative error of ‖g‖/(‖g‖ + eps)", error, 1e-14));
  return {numbers};
}

// Changes of the row means and the overall mean over kComparedSteps, relative to the path's length.
struct MeanShift {
  double rows;
  double overall;
};

MeanShift mean_shift(const Method& method, const Shapes& shapes, const Rule& host) {
  RandomNumbers random(Experiment::kInvariance, 1);
  const Vector start = random.normals(size_of(shapes));
  const Vector target = random.normals(size_of(shapes));
  Iterates iterates(method, {.shapes = shapes, .host = host}, start);
  for (int step = 0; step < kComparedSteps; ++step) {
    iterates.step(difference(iterates.values(), target));
  }
  const Vector end = iterates.values();
  const double path = norm(difference(end, start));
  return {largest(difference(row_means(shapes, end), row_means(shapes, start))) / path,
          std::abs(mean(end) - mean(start)) / path};
}

Evidence check_means(const Method& method) {
  // Means of 20 numbers near 1 over 6 steps have about a hundred roundings of 1.1e-16 each.
  constexpr double kRounding = 1e-14;
  constexpr double kNoticeable = 1e-3;
  const Rule sgd = Sgd{.learning_rate = kComparedRate};
  const Rule adamw = AdamW{.learning_rate = kComparedRate};
  const MeanShift matrices = mean_shift(method, {{4, 5}, {2, 3, 4}}, sgd);
  const MeanShift with_vector = mean_shift(method, {{4, 5}, {2, 3, 4}, {6}}, sgd);
  const MeanShift under_adamw = mean_shift(method, {{4, 5}, {2, 3, 4}}, adamw);
  return {{at_most("SGD, rank ≥ 2: row means moved", matrices.rows, kRounding),
           at_most("SGD, rank ≥ 2: overall mean moved", matrices.overall, kRounding),
           at_most("SGD, with a rank 1 tensor: row means moved", with_vector.rows, kRounding),
           at_least("the same: overall mean moved", with_vector.overall, kNoticeable),
           at_least("AdamW, rank ≥ 2: row means moved", under_adamw.rows, kNoticeable),
           at_least("the same: overall mean moved", under_adamw.overall, kNoticeable)}};
}

}  // namespace

std::vector<Claim> invariance_claims() {
  return {
      {"invariance", "invariance-scale",
       "Multiplying F by α > 0 does not change the iterates (eps = 0). They are bit-equal for "
       "powers of two and differ only by rounding for other factors.",
       "Six steps, three tensors, SGD host; α over 30 orders of magnitude (8 in float16), each "
       "against α = 1.",
       check_scale},
      {"invariance", "invariance-layers",
       "Multiplying the gradient of each tensor by its own factor does not change the iterates "
       "either.",
       "As for invariance-scale, with factors that differ by up to 30 orders of magnitude between "
       "tensors.",
       check_layers},
      {"invariance", "invariance-epsilon",
       "Adding eps to the norm multiplies the step by ‖g‖/(‖g‖ + eps), where g is the centered "
       "gradient: half a step at ‖g‖ = eps.",
       "One tensor, default eps 1e-8, ‖g‖ from 1e-14 to 100.", check_epsilon},
      {"invariance", "invariance-means",
       "With an SGD host and no decay, every row mean of a tensor of rank ≥ 2 is preserved. The "
       "overall mean is preserved only if every tensor has rank ≥ 2. Under AdamW neither is "
       "preserved.",
       "Six steps towards a random point; change of the means per distance moved.", check_means}};
}

}  // namespace sing::lab::theory
