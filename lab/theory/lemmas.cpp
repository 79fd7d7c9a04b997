// Checks Lemmas 1 to 4 of the appendix, and what kind of map the centralization is.
#include <cmath>

#include "lab/theory/claims.hpp"
#include "lab/theory/random_numbers.hpp"

namespace sing::lab::theory {
namespace {

// Relative error of sums of up to 200 products: each term is rounded a few times, and each partial
// sum once.
constexpr double kLemmaRounding = 1e-13;

struct Sample {
  Shapes shapes;
  Vector values;
  std::size_t live_blocks;          // tensors that are not zero
  std::size_t live_centred_blocks;  // tensors that are not zero after centering
};

const std::vector<Shapes>& lemma_shapes() {
  static const std::vector<Shapes> shapes = {
      {{5}}, {{3, 4}}, {{3, 4}, {2, 2, 5}, {6}}, repeat(12, {2, 7}), {{1, 2}, {1}, {40, 3}, {9}}};
  return shapes;
}

// The elements of a sample's tensors: plain random numbers, and numbers that are prone to rounding
// errors.
enum class Kind { kNormal, kScales, kLargeMean, kOneHot, kTiny, kHuge };
constexpr Kind kKinds[] = {Kind::kNormal, Kind::kScales, Kind::kLargeMean,
                           Kind::kOneHot, Kind::kTiny,   Kind::kHuge};

double element(Kind kind, std::size_t index, RandomNumbers& random) {
  const double normal = random.normal();
  switch (kind) {
    case Kind::kScales:
      return std::ldexp(normal, static_cast<int>(index % 7) * 9 - 27);
    case Kind::kLargeMean:
      return 100 + normal;
    case Kind::kOneHot:
      return index == 0 ? 3 : 0;
    case Kind::kTiny:
      return std::ldexp(normal, -400);
    case Kind::kHuge:
      return std::ldexp(normal, 400);
    default:
      return normal;
  }
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  for (const Shapes& shapes : lemma_shapes()) {
    for (const Kind kind : kKinds) {
      RandomNumbers random(Experiment::kLemmas, all.size());
      Sample sample{shapes, Vector(size_of(shapes)), shapes.size(), shapes.size()};
      for_each_block(shapes, sample.values, [&](std::span<double> block, std::size_t) {
        for (std::size_t i = 0; i < block.size(); ++i) {
          block[i] = element(kind, i, random);
        }
      });
      all.push_back(sample);
    }
  }
  return all;
}

// Returns the samples with every second tensor zero, and with every second one row-constant.
std::vector<Sample> degenerate_samples() {
  std::vector<Sample> all;
  for (const bool zero : {true, false}) {
    for (Sample sample : samples()) {
      std::size_t tensor = 0;
      for_each_block(sample.shapes, sample.values, [&](std::span<double> block, std::size_t rank) {
        if (tensor++ % 2 == 0 && (zero || rank >= 2)) {
          std::fill(block.begin(), block.end(), zero ? 0.0 : block[0]);
          sample.live_blocks -= zero || block[0] == 0 ? 1 : 0;
          sample.live_centred_blocks -= 1;
        }
      });
      all.push_back(sample);
    }
  }
  return all;
}

double relative(double value, double expected) {
  return expected == 0 ? std::abs(value) : std::abs(value / expected - 1);
}

Vector apply(const Method& method, const Sample& sample, const Standardize& options) {
  return BlockStandardizer(method, sample.shapes, options)(sample.values);
}

// Checks Lemmas 1 and 3 for one operator: the length of the result.
Evidence check_length(const Method& method, const Standardize& options,
                      std::size_t Sample::* live) {
  double error = 0;
  double degenerate_error = 0;
  double farthest = 0;
  for (const Sample& sample : samples()) {
    error =
        std::max(error, relative(norm(apply(method, sample, options)), root(sample.shapes.size())));
  }
  for (const Sample& sample : degenerate_samples()) {
    const double length = norm(apply(method, sample, options));
    degenerate_error = std::max(degenerate_error, relative(length, root(sample.*live)));
    farthest = std::max(farthest, relative(length, root(sample.shapes.size())));
  }
  return {{at_most("no zero tensor: largest error of √D", error, kLemmaRounding),
           at_least("with zero tensors: largest error of √D", farthest, 0.1),
           at_most("with zero tensors: largest error of √D′", degenerate_error, kLemmaRounding)}};
}

Evidence check_lemma_1(const Method& method) {
  return check_length(method, normalization_only(), &Sample::live_blocks);
}

Evidence check_lemma_3(const Method& method) {
  return check_length(method, paper_options(), &Sample::live_centred_blocks);
}

// Returns the samples of all kinds. Lemmas 2 and 4 also hold with zero tensors, where 0/0 = 0.
std::vector<Sample> every_sample() {
  std::vector<Sample> all = samples();
  for (Sample& sample : degenerate_samples()) {
    all.push_back(std::move(sample));
  }
  return all;
}

Evidence check_lemma_2(const Method& method) {
  double error = 0;
  double largest_ratio = 0;
  for (const Sample& sample : every_sample()) {
    const double product = dot(sample.values, apply(method, sample, normalization_only()));
    const double sum = sum_of_block_norms(sample.shapes, sample.values);
    error = std::max(error, relative(product, sum));
    largest_ratio = std::max(largest_ratio, sum > 0 ? norm(sample.values) / product : 0);
  }
  return {{at_most("largest error of ⟨x, x/Γ(x)⟩ = N(x)", error, kLemmaRounding),
           at_most("largest ‖x‖ / ⟨x, x/Γ(x)⟩", largest_ratio, 1 + kLemmaRounding)}};
}

Evidence check_lemma_4(const Method& method) {
  double error = 0;
  double to_norm = 0;
  double to_sum = 0;
  for (const Sample& sample : every_sample()) {
    const Vector standardized = apply(method, sample, paper_options());
    const Vector centre = centred(sample.shapes, sample.values);
    // x = φ(x) + row means, and the second part is orthogonal to the result. Without it the product
    // is not a difference of large numbers.
    const double product = dot(centre, standardized);
    const double means = dot(difference(sample.values, centre), standardized);
    const double sum = sum_of_block_norms(sample.shapes, centre);
    const double size = norm(sample.values);
    error = std::max(error, sum > 1e-12 * size ? relative(product, sum) : 0);
    error = std::max(error, size > 0 ? std::abs(means) / size : 0);
    to_norm = std::max(to_norm, size > 0 ? norm(centre) / size : 0);
    to_sum = std::max(to_sum, product > 1e-12 * size ? norm(centre) / product : 0);
  }
  return {{at_most("largest error of ⟨x, φ(x)/Γ(φ(x))⟩ = N_φ(x)", error, kLemmaRounding),
           at_most("largest ‖x‖_φ / ‖x‖", to_norm, 1 + kLemmaRounding),
           at_most("largest ‖x‖_φ / ⟨x, φ(x)/Γ(φ(x))⟩", to_sum, 1 + kLemmaRounding)}};
}

struct MapErrors {
  double linear = 0;
  double self_adjoint = 0;
  double idempotent = 0;
};

MapErrors map_errors(const Method& method, const Shapes& shapes, std::size_t repetition) {
  RandomNumbers random(Experiment::kLemmas, 1000 + repetition);
  BlockStandardizer standardizer(method, shapes, centralization_only());
  const auto phi = [&](const Vector& x) { return Vector(standardizer(x)); };
  const Vector x = random.normals(size_of(shapes));
  const Vector y = random.normals(size_of(shapes));
  Vector sum = scaled(x, 2.5);
  add_scaled(sum, -0.75, y);
  Vector image = scaled(phi(x), 2.5);
  add_scaled(image, -0.75, phi(y));
  return {.linear = largest(difference(phi(sum), image)),
          .self_adjoint = std::abs(dot(phi(x), y) - dot(x, phi(y))) / norm(x) / norm(y),
          .idempotent = largest(difference(phi(phi(x)), phi(x)))};
}

Evidence check_projection(const Method& method) {
  MapErrors most;
  double rank_error = 0;
  double fewest_constraints = HUGE_VAL;
  const std::vector<Shapes> cuts = {{{3, 4}}, {{3, 4}, {2, 2, 5}, {6}}, {{40, 3}, {9}}};
  for (std::size_t at = 0; at < cuts.size(); ++at) {
    const Shapes& shapes = cuts[at];
    const MapErrors errors = map_errors(method, shapes, at);
    most = {std::max(most.linear, errors.linear), std::max(most.self_adjoint, errors.self_adjoint),
            std::max(most.idempotent, errors.idempotent)};
    // The trace of a projection is its rank; the remaining dimensions are those of the kernel.
    BlockStandardizer phi(method, shapes, centralization_only());
    const std::size_t size = size_of(shapes);
    double trace = 0;
    for (std::size_t i = 0; i < size; ++i) {
      Vector unit(size, 0.0);
      unit[i] = 1;
      trace += phi(unit)[i];
    }
    const double kernel = static_cast<double>(size) - trace;
    const auto rows = static_cast<double>(row_means(shapes, Vector(size, 0.0)).size());
    rank_error = std::max(rank_error, std::abs(kernel - rows));
    fewest_constraints = std::min(fewest_constraints, kernel);
  }
  return {{at_most("φ(ax + by) − aφ(x) − bφ(y), largest element", most.linear, kLemmaRounding),
           at_most("⟨φx, y⟩ − ⟨x, φy⟩, relative", most.self_adjoint, kLemmaRounding),
           at_most("φ(φ(x)) − φ(x), largest element", most.idempotent, kLemmaRounding),
           at_most("largest error of dim Ker φ = number of rows", rank_error, kLemmaRounding * 100),
           at_least("smallest dim Ker φ tried (the paper: 1)", fewest_constraints, 2)}};
}

}  // namespace

std::vector<Claim> lemma_claims() {
  const std::string tensors =
      "Random tensors, mixed and extreme scales, large means, single non-zero elements; then every "
      "second tensor zero or row-constant.";
  return {
      {"lemmas", "lemma-1",
       "‖x/Γ(x)‖ = √D if no tensor is zero. With zero tensors it is √D′, where D′ is the number of "
       "other tensors, and the lemma as printed fails.",
       tensors, check_lemma_1},
      {"lemmas", "lemma-2",
       "⟨x, x/Γ(x)⟩ = Σ‖x_k‖ = N(x) ≥ ‖x‖, also with zero tensors if 0/0 is 0.", tensors,
       check_lemma_2},
      {"lemmas", "lemma-3",
       "‖φ(x)/Γ(φ(x))‖ = √D if no tensor is zero after centering; otherwise √D′.", tensors,
       check_lemma_3},
      {"lemmas", "lemma-4",
       "⟨x, φ(x)/Γ(φ(x))⟩ = Σ‖x_k‖_φ = N_φ(x); ‖x‖_φ ≤ ‖x‖ and ‖x‖_φ ≤ N_φ(x), also with zero "
       "tensors if 0/0 is 0.",
       tensors, check_lemma_4},
      {"lemmas", "centralization-projection",
       "φ is linear, self-adjoint and idempotent, that is, an orthogonal projection. Its kernel "
       "has one dimension for each row of each tensor of rank ≥ 2, not one in total.",
       "Random vectors; the trace of φ over all unit vectors.", check_projection}};
}

}  // namespace sing::lab::theory
