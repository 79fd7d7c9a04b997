// The numbers that all elements of a tensor are updated with. Most of them do not depend on the
// gradient and are prepared while it is still being measured.
#pragma once

#include <new>

#include "sing/backend/cuda/kernel/global_memory.cuh"

namespace sing::cuda {

// The part of a tensor's constants that does not depend on its gradient. For rules with sums or
// scalars of their own, a later thread completes it.
template <class R, class Real>
struct PreparedConstants {
  typename R::template Constants<Real> rule;
  // New values of the rule's scalars. The apply pass stores them, so that a skipped step changes
  // none.
  Real scalars[kScalarSlotCount<R> == 0 ? 1 : kScalarSlotCount<R>];
  Real merge_alpha;     // LookAhead's, for a step that merges
  std::int32_t starts;  // 1: the tensor's first update, which initializes state from the parameter
  std::int32_t merges;  // 1: LookAhead merges in this step
};

// All constants of a tensor's update: the prepared ones and the result of the measure pass.
template <class R, class Real>
struct TensorConstants : PreparedConstants<R, Real> {
  Real factor;  // multiplies the centered gradient
  bool updates, finite;
};

template <class R, class Real>
__device__ __forceinline__ PreparedConstants<R, Real>* prepared_of(const StepArguments& step,
                                                                   std::int64_t tensor) {
  static_assert(sizeof(PreparedConstants<R, Real>) <= kPreparedBytes);
  return reinterpret_cast<PreparedConstants<R, Real>*>(step.prepared_constants +
                                                       tensor * kPreparedBytes);
}

// A copy, read past L1.
template <class R, class Real>
__device__ __forceinline__ PreparedConstants<R, Real> load_prepared(const StepArguments& step,
                                                                    std::int64_t tensor) {
  constexpr std::size_t kWords = (sizeof(PreparedConstants<R, Real>) + 15) / 16;
  const auto* words =
      reinterpret_cast<const uint4*>(step.prepared_constants + tensor * kPreparedBytes);
  uint4 copy[kWords];
#pragma unroll
  for (std::size_t k = 0; k < kWords; ++k) {
    copy[k] = __ldcg(words + k);
  }
  PreparedConstants<R, Real> prepared;
  memcpy(&prepared, copy, sizeof(prepared));
  return prepared;
}

template <class R, class Real>
__device__ __forceinline__ TensorConstants<R, Real> load_constants(const StepArguments& step,
                                                                   std::int64_t tensor,
                                                                   const MeasureResult& result) {
  return {load_prepared<R, Real>(step, tensor), static_cast<Real>(result.factor),
          result.updates != 0, result.finite != 0};
}

// The tensor must have been measured, and this thread must know it.
template <class R, class Real>
__device__ __forceinline__ TensorConstants<R, Real> load_constants(const StepArguments& step,
                                                                   std::int64_t tensor) {
  return load_constants<R, Real>(step, tensor, load_result(&step.results[tensor]));
}

// Lets the rule advance its scalars. Called by one thread when the other constants are complete.
template <class R, class Real>
__device__ __forceinline__ void advance(const TensorRecord& tensor,
                                        PreparedConstants<R, Real>& prepared) {
  if constexpr (kHasScalars<R>) {
    ScalarState<R> scalars{};
    for (std::size_t k = 0; k < kScalarSlotCount<R>; ++k) {
      scalars.slot[k] =
          static_cast<double>(*static_cast<const Real*>(tensor.slots[kFirstScalarSlot<R> + k]));
    }
    R::advance(prepared.rule, scalars);
    for (std::size_t k = 0; k < kScalarSlotCount<R>; ++k) {
      prepared.scalars[k] = static_cast<Real>(scalars.slot[k]);
    }
  }
}

// Computes and writes a tensor's prepared constants: powers and roots that depend on the number of
// its updates.
template <class R, class Real>
__device__ __noinline__ void prepare_constants(const StepArguments& step, std::int64_t index) {
  const TensorRecord& tensor = step.tensors[index];
  const GroupRecord& group = step.groups[tensor.group];
  const R& rule = *std::launder(reinterpret_cast<const R*>(group.rule));
  const std::int64_t steps = tensor.progress->steps;
  PreparedConstants<R, Real>& prepared = *prepared_of<R, Real>(step, index);
  prepared.rule = rule.template constants<Real>(
      {.step = steps + 1,
       .learning_rate = group.learning_rate_source != nullptr
                            ? static_cast<double>(__ldcg(group.learning_rate_source)) *
                                  group.learning_rate_factor
                            : group.learning_rate,
       .weight_decay = tensor.rank >= 2 ? group.weight_decay_matrices : group.weight_decay_vectors,
       .factored = tensor.rank >= 2,
       .rows = kIsOrthogonal<R> ? tensor.leading : 0,
       .columns = kIsOrthogonal<R> && tensor.leading > 0 ? tensor.size / tensor.leading : 0});
  prepared.starts = steps == 0 ? 1 : 0;
  prepared.merges =
      group.lookahead_period > 0 && (group.progress->steps + 1) % group.lookahead_period == 0 ? 1
                                                                                              : 0;
  prepared.merge_alpha = static_cast<Real>(group.lookahead_alpha);
}

// Values of prepared[tensor] in the step that advances the queue to `generation`: a thread is
// preparing the constants, or they are written. Valid for the first 2³¹ steps of a plan.
__device__ __forceinline__ unsigned int claimed_in(unsigned int generation) {
  return 2 * generation - 1;
}
__device__ __forceinline__ unsigned int prepared_in(unsigned int generation) {
  return 2 * generation;
}

// Prepares a tensor unless another thread has claimed it. A thread that reads prepared_in() from
// the flag and then fences sees the constants.
template <class R, class Real>
__device__ __forceinline__ void prepare_if_unclaimed(const StepArguments& step, std::int64_t index,
                                                     unsigned int generation) {
  if (atomicMax(&step.prepared[index], claimed_in(generation)) < claimed_in(generation)) {
    prepare_constants<R, Real>(step, index);
    store_release(&step.prepared[index], prepared_in(generation));
  }
}

// Prepares the tensors of a launch, each by a warp of its own while there are enough warps. This
// takes long enough to delay a tensor's first tile if it is done only when the sums are complete,
// and its loads are faster before all warps of the device load gradients. This warp is number
// `warp` of `warps` in the grid.
template <class R, class Real>
__device__ __forceinline__ void prepare_tensors(const StepArguments& step, unsigned int generation,
                                                std::int64_t warp, std::int64_t warps) {
  for (std::int64_t k = warp + lane_id() * warps; k < step.prepared_count; k += 32 * warps) {
    prepare_if_unclaimed<R, Real>(step, step.first_prepared + k, generation);
  }
  __syncwarp();
}

}  // namespace sing::cuda
