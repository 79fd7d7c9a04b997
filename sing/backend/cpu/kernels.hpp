// The loops over elements as a table of functions, one table per instruction set.
#pragma once

#include <cstdint>

#include "sing/backend/backend.hpp"
#include "sing/backend/cpu/sample_moments.hpp"

namespace sing::cpu {

// [begin, end) in elements, rows or matrix rows, as the kernel says.
struct IndexRange {
  std::int64_t begin;
  std::int64_t end;
};

// Everything that the kernels after the measure pass need to know about one tensor in one step.
struct UpdateArguments {
  const TensorStep* tensor = nullptr;
  const void* row_means = nullptr;     // Real[rows]; null: not centralized
  double gradient_factor = 0;          // GradientScale::factor
  const void* constants = nullptr;     // Rule::Constants<Real>
  const void* mean_of_rows = nullptr;  // Real[matrices]; factored rules only
  const void* orthogonal = nullptr;    // Real[size]; rules that make matrices orthogonal
  double curvature_factor = 1;         // takes the loss scale out of the curvature
  bool measures = false;               // apply() also sums the squares of the unscaled gradient
  bool is_first = false;               // the parameter's first update, which starts its state
  bool merges = false;                 // LookAhead merges in this step
  double merge_alpha = 0;
};

// The loops of one rule for one type.
struct RuleKernels {
  // Blends row sums into the row slot and overwrites column_sums (Real[columns]) with the column
  // sums of the range, which lies within one matrix.
  void (*factor_rows)(const UpdateArguments&, IndexRange matrix_rows, void* column_sums);
  // Writes row sums in place of blending them, and column sums, for a part of a tensor.
  void (*factor_sums)(const UpdateArguments&, IndexRange matrix_rows, double* row_sums,
                      void* column_sums);
  // Blends the column sums of one matrix, `parts` consecutive arrays, into its column slot and
  // writes the mean of its row slots.
  void (*factor_columns)(const UpdateArguments&, std::int64_t matrix, void* column_sums, int parts);
  // Adds the rule's sums over a range of elements to totals[kSumCount].
  void (*sum)(const UpdateArguments&, IndexRange elements, double* totals);
  // Writes a range of the matrix that the rule makes orthogonal, into its place in `matrix`.
  void (*matrix_input)(const UpdateArguments&, IndexRange elements, void* matrix);
  // Returns Σ g² if UpdateArguments::measures, else 0.
  double (*apply)(const UpdateArguments&, IndexRange elements);
};

// The loops for one type of arithmetic: double for float64 parameters, float for all others.
struct RealKernels {
  // Whole rows of a tensor that is centralized: writes their means and returns their squares.
  GradientSums (*measure_rows)(const TensorStep&, IndexRange rows, void* row_means);
  // A part of one row that is too long for one chunk.
  SampleMoments (*measure_piece)(const TensorStep&, IndexRange elements);
  // Σ g², without centralization.
  double (*measure_squares)(const TensorStep&, IndexRange elements);

  RuleKernels rules[kRuleCount];

  void (*convert)(void* to, Dtype to_dtype, const void* from, Dtype from_dtype, std::int64_t count);
  void (*blend)(void* to, Dtype to_dtype, const Blend& blend, std::int64_t count);
  // Rounds consecutive elements of a slot; `first` is the number of the first.
  void (*round_randomly)(const float* from, BFloat16* to, std::int64_t count,
                         StochasticRounding rounding, std::uint32_t first);
  void (*multiply)(const MatrixProduct& product);
};

struct Kernels {
  RealKernels of_float;
  RealKernels of_double;

  const RealKernels& of(Dtype parameter) const {
    return parameter == Dtype::kFloat64 ? of_double : of_float;
  }
};

// Throws std::invalid_argument if this machine lacks the instruction set.
const Kernels& select_kernels(InstructionSet instruction_set);

}  // namespace sing::cpu
