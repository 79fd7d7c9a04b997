// The measure pass over a tensor: what each chunk leaves, and what all of them together say.
#include "sing/backend/cpu/step_run.hpp"
#include "sing/backend/cpu/visit_rule.hpp"

namespace sing::cpu {
// No sum changes the scale of such a tensor.
void StepRun::begin_unmeasured(std::size_t tensor) {
  scales_[tensor] = gradient_scale(
      group_of(tensor).standardize, {.squares = 1, .centred_squares = 1},
      request_->tensors[tensor].layout.size, request_->tensors[tensor].dtype, request_->loss_scale);
}

void StepRun::measure_chunk(std::size_t tensor, std::int64_t chunk) {
  const TensorPlan& plan = plan_.tensors[tensor];
  const TensorStep& step = request_->tensors[tensor];
  const RealKernels& kernels = kernels_of(tensor);
  Partial& partial = plan.partials[chunk];
  if (!plan.centralizes) {
    const double squares =
        kernels.measure_squares(step, plan.measure.range(chunk, step.layout.size));
    partial.sums = {squares, squares};
  } else if (plan.pieces > 0) {
    const std::int64_t row = chunk / plan.pieces * step.layout.inner;
    const Range piece = plan.measure.range(chunk % plan.pieces, step.layout.inner);
    partial.moments = kernels.measure_piece(step, {row + piece.begin, row + piece.end});
  } else {
    partial.sums =
        kernels.measure_rows(step, plan.measure.range(chunk, step.layout.rows), plan.row_means);
  }
}

// Adds up what the chunks left, always in the order of the tensor.
void StepRun::finish_measure(std::size_t tensor) {
  const TensorPlan& plan = plan_.tensors[tensor];
  const TensorStep& step = request_->tensors[tensor];
  GradientSums sums;
  Moments row;
  for (std::int64_t chunk = 0; chunk < plan.measure.count; ++chunk) {
    const Partial& partial = plan.partials[chunk];
    if (plan.pieces == 0) {
      sums.squares += partial.sums.squares;
      sums.centred_squares += partial.sums.centred_squares;
      continue;
    }
    row = combine(row, partial.moments);
    if ((chunk + 1) % plan.pieces == 0) {
      const std::int64_t index = chunk / plan.pieces;
      if (real_of(step.dtype) == Dtype::kFloat64) {
        reinterpret_cast<double*>(plan.row_means)[index] = row.mean;
      } else {
        reinterpret_cast<float*>(plan.row_means)[index] = static_cast<float>(row.mean);
      }
      sums.squares += squares(row);
      sums.centred_squares += row.centred_squares;
      row = {};
    }
  }
  scales_[tensor] = gradient_scale(group_of(tensor).standardize, sums, step.layout.size, step.dtype,
                                   request_->loss_scale);
  step.progress->gradient_norm = scales_[tensor].gradient_norm;
}

}  // namespace sing::cpu
