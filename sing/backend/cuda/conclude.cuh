// Between measure and apply: one tensor's sums become the constants its elements are updated with.
#pragma once

#include <new>

#include "sing/backend/cuda/measure.cuh"

namespace sing::cuda {

// What the apply pass reads of a tensor. Written once a step, by one thread.
template <class R, class Real>
struct Conclusion {
  typename R::template Constants<Real> constants;
  Real factor;       // of the centred gradient
  Real merge_alpha;  // of LookAhead, where `merges`
  bool updates;      // false: the gradient is not finite and the policy skips the tensor
  bool finite;
  bool starts;  // the tensor's first update: state is taken from the parameter
  bool merges;
};

template <class R, class Real>
__device__ __forceinline__ Conclusion<R, Real>* conclusion_of(const StepArguments& step,
                                                              std::int64_t tensor) {
  static_assert(sizeof(Conclusion<R, Real>) <= kConclusionBytes);
  return reinterpret_cast<Conclusion<R, Real>*>(step.conclusions + tensor * kConclusionBytes);
}

// Called by one thread. Counters are advanced by apply, so that a skipped step changes none.
template <class R, class Real>
__device__ __noinline__ void conclude(const StepArguments& step,
                                      std::int64_t index,
                                      const GradientSums& sums) {
  const TensorRecord& tensor = step.tensors[index];
  const GroupRecord& group = step.groups[tensor.group];
  const GradientScale scale =
      gradient_scale(group.standardize, sums, tensor.size, tensor.dtype, step.step->loss_scale);
  tensor.progress->gradient_norm = scale.gradient_norm;
  if (!scale.finite) {
    // The largest code is the smallest index, whatever the order of arrival.
    atomicMax(&step.queue->non_finite_code, ~static_cast<unsigned long long>(tensor.index));
  }
  const R& rule = *std::launder(reinterpret_cast<const R*>(group.rule));
  const std::int64_t steps = tensor.progress->steps;
  Conclusion<R, Real> conclusion;
  conclusion.constants = rule.template constants<Real>(
      {.step = steps + 1,
       .learning_rate = group.learning_rate,
       .weight_decay = tensor.rank >= 2 ? group.weight_decay_matrices : group.weight_decay_vectors,
       .factored = tensor.rank >= 2});
  conclusion.factor = static_cast<Real>(scale.factor);
  conclusion.finite = scale.finite;
  conclusion.updates = scale.finite || step.step->non_finite == NonFinite::kPassThrough;
  conclusion.starts = steps == 0;
  conclusion.merges =
      group.lookahead_period > 0 && (group.progress->steps + 1) % group.lookahead_period == 0;
  conclusion.merge_alpha = static_cast<Real>(group.lookahead_alpha);
  *conclusion_of<R, Real>(step, index) = conclusion;
}

__device__ __forceinline__ ChunkSums load_partial(const ChunkSums* partial) {
  return {__ldcg(&partial->squares), __ldcg(&partial->centred_squares), __ldcg(&partial->mean), 0};
}

// Rows split over chunks: a warp a row combines the parts and writes the row's mean.
template <class Real>
__device__ __noinline__ ThreadSums combine_split_rows(const TensorRecord& tensor,
                                                      const ChunkSums* partials) {
  const Team team = block_team();
  ThreadSums sums{};
  for (std::int64_t row = team.warp(); row < tensor.rows; row += team.warps()) {
    const ChunkSums* parts = partials + row * tensor.chunks_per_row;
    const auto length_of = [&](std::int64_t part) {
      const std::int64_t left = tensor.span - part * tensor.chunk_elements;
      return static_cast<double>(left < tensor.chunk_elements ? left : tensor.chunk_elements);
    };
    double total = 0;
    for (std::int64_t part = team.lane(); part < tensor.chunks_per_row; part += 32) {
      total += load_partial(parts + part).mean * length_of(part);
    }
    const Real mean = static_cast<Real>(warp_sum(total) / static_cast<double>(tensor.span));
    for (std::int64_t part = team.lane(); part < tensor.chunks_per_row; part += 32) {
      const ChunkSums found = load_partial(parts + part);
      const Moments moments{found.mean, found.centred_squares};
      sums.centred_squares += squares_about(moments, length_of(part), static_cast<double>(mean));
      sums.squares += found.squares;
    }
    if (team.lane() == 0) {
      static_cast<Real*>(tensor.row_means)[row] = mean;
    }
  }
  return sums;
}

// Sums of all chunks of a tensor in a fixed order, by the block that measured the last of them.
template <class Real>
__device__ __forceinline__ ThreadSums combine_chunks(const TensorRecord& tensor,
                                                     const ChunkSums* partials,
                                                     bool centralizes) {
  if (centralizes && tensor.outer == 1 && tensor.chunks_per_row > 1) {
    return combine_split_rows<Real>(tensor, partials);
  }
  ThreadSums sums{};
  for (std::int64_t chunk = threadIdx.x; chunk < tensor.chunks; chunk += blockDim.x) {
    const ChunkSums found = load_partial(partials + chunk);
    sums.squares += found.squares;
    sums.centred_squares += found.centred_squares;
  }
  return sums;
}

// True in every thread of the block that arrives last at a tensor's counter.
__device__ __forceinline__ bool arrives_last(const StepArguments& step,
                                             std::int64_t index,
                                             std::int64_t chunks,
                                             int& shared_flag) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    const auto last = static_cast<unsigned int>(chunks - 1);
    shared_flag = atomicInc(&step.chunks_done[index], last) == last ? 1 : 0;
    __threadfence();
  }
  __syncthreads();
  return shared_flag != 0;
}

}  // namespace sing::cuda
