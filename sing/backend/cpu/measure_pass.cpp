// The measure pass over a tensor: what each chunk leaves, and what all of them together say.
#include "sing/backend/cpu/step_run.hpp"
#include "sing/backend/cpu/visit_rule.hpp"

namespace sing::cpu {
namespace {

// The elements of a chunk of the measure pass; none where they are scattered over the tensor.
Range measured_elements(const TensorPlan& plan, const Layout& layout, std::int64_t chunk) {
  if (!plan.centralizes) {
    return plan.measure.range(chunk, layout.size);
  }
  if (plan.pieces > 0) {
    const std::int64_t row_begin = chunk / plan.pieces * layout.inner;
    const Range piece = plan.measure.range(chunk % plan.pieces, layout.inner);
    return {row_begin + piece.begin, row_begin + piece.end};
  }
  if (layout.outer > 1) {
    return {0, 0};
  }
  const Range rows = plan.measure.range(chunk, layout.rows);
  return {rows.begin * layout.inner, rows.end * layout.inner};
}

}  // namespace

// No sum changes the scale of such a tensor.
void StepRun::begin_unmeasured(std::size_t tensor) {
  scales_[tensor] = gradient_scale(group_of(tensor).standardize,
                                   {.squares = 1, .centred_squares = 1},
                                   request_->tensors[tensor].layout.size,
                                   request_->tensors[tensor].dtype,
                                   request_->loss_scale);
}

void StepRun::measure_chunk(std::size_t tensor, std::int64_t chunk) {
  const TensorPlan& plan = plan_.tensors[tensor];
  const TensorStep& step = request_->tensors[tensor];
  const RealKernels& kernels = kernels_of(tensor);
  Partial& partial = plan.partials[chunk];
  if (!plan.centralizes) {
    const double squares =
        kernels.measure_squares(step, measured_elements(plan, step.layout, chunk));
    partial.sums = {squares, squares};
  } else if (plan.pieces > 0) {
    partial.moments = kernels.measure_piece(step, measured_elements(plan, step.layout, chunk));
  } else {
    partial.sums =
        kernels.measure_rows(step, plan.measure.range(chunk, step.layout.rows), plan.row_means);
  }
}

Upcoming StepRun::upcoming_of(const Item& item) const {
  if (!item.measures_next) {
    return {};
  }
  const TensorStep& step = request_->tensors[item.next_tensor];
  const Range elements =
      measured_elements(plan_.tensors[item.next_tensor], step.layout, item.next_chunk);
  const auto bytes = static_cast<std::int64_t>(size_of(step.gradient_dtype));
  return {static_cast<const char*>(step.gradient) + elements.begin * bytes,
          (elements.end - elements.begin) * bytes};
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
  scales_[tensor] = gradient_scale(
      group_of(tensor).standardize, sums, step.layout.size, step.dtype, request_->loss_scale);
  step.progress->gradient_norm = scales_[tensor].gradient_norm;
}

}  // namespace sing::cpu
