// The pass of rules that need sums over a tensor, such as norms of parameter and update.
#pragma once

#include "sing/backend/cuda/kernel/update.cuh"

namespace sing::cuda {

// True in every thread of the last of `count` blocks to call this for a counter; see
// warp_arrives_last.
__device__ __forceinline__ bool block_arrives_last(unsigned int* counter, std::int64_t count,
                                                   int& shared_flag) {
  __syncthreads();
  if (threadIdx.x < 32) {
    const bool last = warp_arrives_last(counter, count);
    if (threadIdx.x == 0) {
      shared_flag = last ? 1 : 0;
    }
  }
  __syncthreads();
  return shared_flag != 0;
}

struct SumsShared {
  double sums[4 * kPassWarps];
  int arrived_last;
};

// Adds this thread's share of a rule's sums over one chunk.
template <class R, class Real, class G, class P>
__device__ __noinline__ void add_sums(const StepArguments& step, std::int64_t index,
                                      std::int64_t chunk, double (&totals)[kSumCount<R>]) {
  visit_elements<R, Real, G, P>(
      step, index, chunk_range(step.tensors[index], chunk), block_team(),
      [&](const auto& view, int /*i*/, const auto& /*loaded*/, const auto& elements) {
        Real values[kSumCount<R>];
        R::sums(view.constants.rule, elements.element[0], elements.state[0], values);
        for (std::size_t k = 0; k < kSumCount<R>; ++k) {
          totals[k] += static_cast<double>(values[k]);
        }
      });
}

// Sums one chunk. The block that completes a tensor finishes the rule's constants.
template <class R, class Real, class G, class P>
__device__ __forceinline__ void sum_chunk(const StepArguments& step, std::int64_t index,
                                          std::int64_t chunk, SumsShared& shared) {
  constexpr int kCount = static_cast<int>(kSumCount<R>);
  static_assert(kCount <= 4, "a chunk has room for four sums");
  const Team team = block_team();
  const TensorRecord& tensor = step.tensors[index];
  double sums[kSumCount<R>] = {};
  add_sums<R, Real, G, P>(step, index, chunk, sums);
  block_sum(sums, shared.sums);
  auto* partials = reinterpret_cast<double*>(step.partials + tensor.first_partial);
  if (team.rank == 0) {
    for (int k = 0; k < kCount; ++k) {
      partials[chunk * 4 + k] = sums[k];
    }
  }
  if (!block_arrives_last(&step.tensor_done[index], tensor.chunks, shared.arrived_last)) {
    return;
  }
  for (int k = 0; k < kCount; ++k) {
    sums[k] = 0;
    for (std::int64_t c = team.rank; c < tensor.chunks; c += team.size) {
      sums[k] += __ldcg(&partials[c * 4 + k]);
    }
  }
  block_sum(sums, shared.sums);
  if (team.rank == 0) {
    PreparedConstants<R, Real>& prepared = *prepared_of<R, Real>(step, index);
    R::finish(prepared.rule, sums, tensor.size);
    advance<R, Real>(tensor, prepared);
  }
}

}  // namespace sing::cuda
