// The loops over elements, one table of them for each instruction set.
#pragma once

#include <cstdint>

#include "sing/backend/backend.hpp"

namespace sing::cpu {

// Count, mean and Σ(x − mean)² of some elements; two of them combine without cancellation.
struct Moments {
  std::int64_t count = 0;
  double mean = 0;
  double centred_squares = 0;
};

// Chan, Golub, LeVeque: the moments of both sets of elements together.
SING_HOST_DEVICE Moments combine(const Moments& a, const Moments& b) {
  if (a.count == 0 || b.count == 0) {
    return a.count == 0 ? b : a;
  }
  const auto count_a = static_cast<double>(a.count);
  const auto count_b = static_cast<double>(b.count);
  const double count = count_a + count_b;
  const double delta = b.mean - a.mean;
  return {a.count + b.count, a.mean + delta * (count_b / count),
          a.centred_squares + b.centred_squares + delta * delta * (count_a * count_b / count)};
}

// Σ x² of the elements that the moments describe.
SING_HOST_DEVICE double squares(const Moments& m) {
  return m.centred_squares + static_cast<double>(m.count) * m.mean * m.mean;
}

// What the passes after measure need to know of one tensor in one step.
struct TensorPass {
  const TensorStep* tensor = nullptr;
  const void* row_means = nullptr;     // Real[rows]; null: not centralized
  double gradient_factor = 0;          // GradientScale::factor
  const void* constants = nullptr;     // Rule::Constants<Real>
  const void* mean_of_rows = nullptr;  // Real[matrices]; factored rules only
  const void* orthogonal = nullptr;    // Real[size]; rules that make matrices orthogonal
  double curvature_factor = 1;         // takes the loss scale out of the curvature
  bool measures = false;               // apply sums the squares of the gradient as it is given
  bool is_first = false;               // the parameter's first update: state starts
  bool merges = false;                 // LookAhead merges in this step
  double merge_alpha = 0;
};

// [begin, end) in elements, rows or matrix rows, as the kernel says.
struct Range {
  std::int64_t begin;
  std::int64_t end;
};

// Loops for one parameter type: float for all parameters but float64.
struct RealKernels {
  // Whole rows of a tensor with centralization: writes their means and adds up their squares.
  GradientSums (*measure_rows)(const TensorStep&, Range rows, void* row_means);
  // A part of one row that is too long for one piece of work.
  Moments (*measure_piece)(const TensorStep&, Range elements);
  // Σ g², without centralization.
  double (*measure_squares)(const TensorStep&, Range elements);

  struct OfRule {
    // Row sums into the row slot (blended), column sums of the range into `column_sums`
    // (Real[columns], overwritten). The range lies within one matrix.
    void (*factor_rows)(const TensorPass&, Range matrix_rows, void* column_sums);
    // Blends column sums, given as `parts` arrays in a row, into the column slot of one matrix and
    // writes the mean of its row slots.
    void (*factor_columns)(const TensorPass&, std::int64_t matrix, void* column_sums, int parts);
    // Adds the rule's sums over a range of elements to totals[kSumCount].
    void (*sum)(const TensorPass&, Range elements, double* totals);
    // Writes what the rule wants orthogonal of all elements of a tensor.
    void (*matrix_input)(const TensorPass&, void* matrix);
    // Returns Σ g² where the pass measures.
    double (*apply)(const TensorPass&, Range elements);
  };
  OfRule rules[kRuleCount];

  void (*convert)(void* to, Dtype to_dtype, const void* from, Dtype from_dtype, std::int64_t count);
  void (*blend)(void* to, Dtype to_dtype, const Blend& blend, std::int64_t count);
  void (*multiply)(const MatrixProduct& product);
};

struct Kernels {
  RealKernels of_float;
  RealKernels of_double;

  const RealKernels& of(Dtype parameter) const {
    return parameter == Dtype::kFloat64 ? of_double : of_float;
  }
};

const Kernels& select_kernels(InstructionSet instruction_set);

}  // namespace sing::cpu
