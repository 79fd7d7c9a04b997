// The measure pass over a tensor: finds the row means and the factor that standardize its gradient.
#pragma once

#include "sing/backend/cpu/tensor_job.hpp"

namespace sing::cpu {

// Measures one chunk and leaves a partial result in the tensor's scratch. Chunks may be measured in
// any order and at the same time.
void measure_chunk(const TensorJob& job, std::int64_t chunk);

// Combines the partial results of all chunks, always in the order of the tensor: writes the means
// of rows that were measured in pieces and returns the sums.
GradientSums combine_chunks(const TensorJob& job);

// The scale that follows from the tensor's sums; records the gradient's norm.
GradientScale finish_measure(const TensorJob& job, const GradientSums& sums);
inline GradientScale finish_measure(const TensorJob& job) {
  return finish_measure(job, combine_chunks(job));
}

// The mean of a row of the part or tensor.
double load_mean(const TensorJob& job, std::int64_t row);
void store_mean(const TensorJob& job, std::int64_t row, double mean);

// The scale of a tensor that its update measures, which does not depend on any sum.
GradientScale scale_before_measuring(const TensorJob& job);

}  // namespace sing::cpu
