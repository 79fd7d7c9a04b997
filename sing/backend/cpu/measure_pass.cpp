// Measures the chunks of a tensor and combines their sums.
#include "sing/backend/cpu/measure_pass.hpp"

namespace sing::cpu {
namespace {

GradientScale scale_from(const TensorJob& job, const GradientSums& sums) {
  return gradient_scale(job.group.standardize, sums, job.step.whole_size(), job.step.dtype,
                        job.loss_scale);
}

}  // namespace

double load_mean(const TensorJob& job, std::int64_t row) {
  return state_dtype(job.step.dtype) == Dtype::kFloat64
             ? reinterpret_cast<const double*>(job.plan.row_means)[row]
             : static_cast<double>(reinterpret_cast<const float*>(job.plan.row_means)[row]);
}

void store_mean(const TensorJob& job, std::int64_t row, double mean) {
  if (state_dtype(job.step.dtype) == Dtype::kFloat64) {
    reinterpret_cast<double*>(job.plan.row_means)[row] = mean;
  } else {
    reinterpret_cast<float*>(job.plan.row_means)[row] = static_cast<float>(mean);
  }
}

void measure_chunk(const TensorJob& job, std::int64_t chunk) {
  const Layout& layout = job.step.layout;
  const Chunks& chunks = job.plan.chunks(Pass::kMeasure);
  Partial& partial = job.plan.partials[chunk];
  if (!job.plan.centralizes) {
    const double squares = job.kernels.measure_squares(job.step, chunks.range(chunk, layout.size));
    partial.sums = {squares, squares};
  } else if (job.plan.pieces > 0) {
    const std::int64_t row = chunk / job.plan.pieces * layout.inner;
    const IndexRange piece = chunks.range(chunk % job.plan.pieces, layout.inner);
    partial.moments = job.kernels.measure_piece(job.step, {row + piece.begin, row + piece.end});
  } else {
    partial.sums =
        job.kernels.measure_rows(job.step, chunks.range(chunk, layout.rows), job.plan.row_means);
  }
}

GradientSums combine_chunks(const TensorJob& job) {
  const std::int64_t pieces = job.plan.pieces;
  GradientSums sums;
  SampleMoments row;
  for (std::int64_t chunk = 0; chunk < job.plan.chunks(Pass::kMeasure).count; ++chunk) {
    const Partial& partial = job.plan.partials[chunk];
    if (pieces == 0) {
      sums.squares += partial.sums.squares;
      sums.centred_squares += partial.sums.centred_squares;
      continue;
    }
    row = combine(row, partial.moments);
    if ((chunk + 1) % pieces == 0) {
      store_mean(job, chunk / pieces, row.mean);
      sums.squares += squares(row);
      sums.centred_squares += row.centred_squares;
      row = {};
    }
  }
  return sums;
}

GradientScale finish_measure(const TensorJob& job, const GradientSums& sums) {
  const GradientScale scale = scale_from(job, sums);
  job.step.progress->gradient_norm = scale.gradient_norm;
  return scale;
}

GradientScale scale_before_measuring(const TensorJob& job) {
  return scale_from(job, {.squares = 1, .centred_squares = 1});
}

}  // namespace sing::cpu
