// Between measure and apply: one tensor's sums become the constants its elements are updated with.
#pragma once

#include <new>

#include "sing/backend/cuda/kernel/measure.cuh"

namespace sing::cuda {

// What of a conclusion is known before the gradient is, but for what a rule adds from its own sums
// and scalars. Written by one thread at a time.
template <class R, class Real>
struct Beginning {
  typename R::template Constants<Real> constants;
  // New values of the rule's scalars; apply stores them, so that a skipped step changes none.
  Real scalars[kScalarSlotCount<R> == 0 ? 1 : kScalarSlotCount<R>];
  Real merge_alpha;     // of LookAhead, where `merges`
  std::int32_t starts;  // 1: the tensor's first update, state is taken from the parameter
  std::int32_t merges;
};

// What the apply pass reads of a tensor.
template <class R, class Real>
struct Conclusion : Beginning<R, Real> {
  Real factor;  // of the centred gradient
  bool updates, finite;
};

template <class R, class Real>
__device__ __forceinline__ Beginning<R, Real>* beginning_of(const StepArguments& step,
                                                            std::int64_t tensor) {
  static_assert(sizeof(Beginning<R, Real>) <= kBeginningBytes);
  return reinterpret_cast<Beginning<R, Real>*>(step.beginnings + tensor * kBeginningBytes);
}

// A copy read past the first-level cache.
template <class R, class Real>
__device__ __forceinline__ Beginning<R, Real> load_beginning(const StepArguments& step,
                                                             std::int64_t tensor) {
  constexpr std::size_t kWords = (sizeof(Beginning<R, Real>) + 15) / 16;
  const auto* words = reinterpret_cast<const uint4*>(step.beginnings + tensor * kBeginningBytes);
  uint4 copy[kWords];
#pragma unroll
  for (std::size_t k = 0; k < kWords; ++k) {
    copy[k] = __ldcg(words + k);
  }
  Beginning<R, Real> beginning;
  memcpy(&beginning, copy, sizeof(beginning));
  return beginning;
}

template <class R, class Real>
__device__ __forceinline__ Conclusion<R, Real> load_conclusion(const StepArguments& step,
                                                               std::int64_t tensor,
                                                               const Verdict& verdict) {
  return {load_beginning<R, Real>(step, tensor), static_cast<Real>(verdict.factor),
          verdict.updates != 0, verdict.finite != 0};
}

// Of a tensor that is known to be measured.
template <class R, class Real>
__device__ __forceinline__ Conclusion<R, Real> load_conclusion(const StepArguments& step,
                                                               std::int64_t tensor) {
  return load_conclusion<R, Real>(step, tensor, load_verdict(&step.verdicts[tensor]));
}

// Called by one thread when the constants are complete but for the rule's scalars.
template <class R, class Real>
__device__ __forceinline__ void advance(const TensorRecord& tensor, Beginning<R, Real>& beginning) {
  if constexpr (kHasScalars<R>) {
    ScalarState<R> scalars{};
    for (std::size_t k = 0; k < kScalarSlotCount<R>; ++k) {
      scalars.slot[k] =
          static_cast<double>(*static_cast<const Real*>(tensor.slots[kFirstScalarSlot<R> + k]));
    }
    R::advance(beginning.constants, scalars);
    for (std::size_t k = 0; k < kScalarSlotCount<R>; ++k) {
      beginning.scalars[k] = static_cast<Real>(scalars.slot[k]);
    }
  }
}

// What a tensor's conclusion does not owe to its gradient: powers and roots of the step's number.
template <class R, class Real>
__device__ __noinline__ void begin_conclusion(const StepArguments& step, std::int64_t index) {
  const TensorRecord& tensor = step.tensors[index];
  const GroupRecord& group = step.groups[tensor.group];
  const R& rule = *std::launder(reinterpret_cast<const R*>(group.rule));
  const std::int64_t steps = tensor.progress->steps;
  Beginning<R, Real>& beginning = *beginning_of<R, Real>(step, index);
  beginning.constants = rule.template constants<Real>(
      {.step = steps + 1,
       .learning_rate = group.learning_rate_source != nullptr
                            ? static_cast<double>(__ldcg(group.learning_rate_source)) *
                                  group.learning_rate_factor
                            : group.learning_rate,
       .weight_decay = tensor.rank >= 2 ? group.weight_decay_matrices : group.weight_decay_vectors,
       .factored = tensor.rank >= 2,
       .rows = kIsOrthogonal<R> ? tensor.leading : 0,
       .columns = kIsOrthogonal<R> && tensor.leading > 0 ? tensor.size / tensor.leading : 0});
  beginning.starts = steps == 0 ? 1 : 0;
  beginning.merges =
      group.lookahead_period > 0 && (group.progress->steps + 1) % group.lookahead_period == 0 ? 1
                                                                                              : 0;
  beginning.merge_alpha = static_cast<Real>(group.lookahead_alpha);
}

// What a tensor's `begun` holds in the step that makes the epoch this one, of the first 2³¹.
__device__ __forceinline__ unsigned int taken_in(unsigned int epoch) { return 2 * epoch - 1; }
__device__ __forceinline__ unsigned int done_in(unsigned int epoch) { return 2 * epoch; }

// Unless another thread has taken it, which then has begun it or is about to.
template <class R, class Real>
__device__ __forceinline__ void begin_if_free(const StepArguments& step, std::int64_t index,
                                              unsigned int epoch) {
  if (atomicMax(&step.begun[index], taken_in(epoch)) < taken_in(epoch)) {
    begin_conclusion<R, Real>(step, index);
    store_release(&step.begun[index], done_in(epoch));
  }
}

// Begins the tensors of a launch, each by another warp as long as there are enough: one lane's
// powers would keep a tensor's sums waiting, and what they need is read before a whole device of
// warps asks for gradients. `warp` of `warps`: over all blocks.
template <class R, class Real>
__device__ __forceinline__ void begin_conclusions(const StepArguments& step, unsigned int epoch,
                                                  std::int64_t warp, std::int64_t warps) {
  for (std::int64_t k = warp + warp_team().rank * warps; k < step.begun_count; k += 32 * warps) {
    begin_if_free<R, Real>(step, step.first_begun + k, epoch);
  }
  __syncwarp();
}

// What concludes a tensor beside its sums. Read before they are handed in: behind the fence that
// follows, each of these would be a reading from the second-level cache, with the step waiting.
struct ConclusionInputs {
  Standardize standardize;
  double loss_scale;
  std::int64_t size;
  Dtype dtype;
  NonFinite non_finite;
  unsigned int epoch;
  unsigned int begun;

  __device__ __forceinline__ ConclusionInputs(const StepArguments& step, std::int64_t index,
                                              unsigned int the_epoch)
      : standardize(step.groups[step.tensors[index].group].standardize),
        loss_scale(step.step->loss_scale),
        size(step.tensors[index].size),
        dtype(step.tensors[index].dtype),
        non_finite(step.step->non_finite),
        epoch(the_epoch),
        begun(load_flag(&step.begun[index])) {}
};

// Called by one thread, after a fence behind all that others are to see of the tensor: its means,
// and what was begun. Counters are advanced by apply, so that a skipped step changes none.
template <class R, class Real>
__device__ __forceinline__ void conclude(const StepArguments& step, std::int64_t index,
                                         const ConclusionInputs& inputs, const GradientSums& sums) {
  const TensorRecord& tensor = step.tensors[index];
  const GradientScale scale =
      gradient_scale(inputs.standardize, sums, inputs.size, inputs.dtype, inputs.loss_scale);
  if (!scale.finite) {
    // The largest code is the smallest index, whatever the order of arrival.
    atomicMax(&step.queue->non_finite_code, ~static_cast<unsigned long long>(tensor.index));
    fence_acquire_release();
    atomicAdd(&step.queue->exited, kNotFinite);
  }
  const bool updates = scale.finite || inputs.non_finite == NonFinite::kPassThrough;
  if (inputs.begun != done_in(inputs.epoch)) {
    // The warp that is to begin this tensor may not run yet, and must not be waited for.
    begin_if_free<R, Real>(step, index, inputs.epoch);
    while (load_flag(&step.begun[index]) != done_in(inputs.epoch)) {
      __nanosleep(32);
    }
    fence_acquire_release();
  }
  if constexpr (!kHasSums<R> && kHasScalars<R>) {
    Beginning<R, Real> advanced = load_beginning<R, Real>(step, index);
    advance<R, Real>(tensor, advanced);
    *beginning_of<R, Real>(step, index) = advanced;
    fence_acquire_release();
  }
  store_verdict(&step.verdicts[index],
                {.epoch = inputs.epoch,
                 .updates = static_cast<std::uint16_t>(updates ? 1 : 0),
                 .finite = static_cast<std::uint16_t>(scale.finite ? 1 : 0),
                 .factor = static_cast<double>(static_cast<Real>(scale.factor))});
  // Nobody waits for these.
  tensor.progress->gradient_norm = scale.gradient_norm;
  step.squares[index] = updates ? scale.standardized_norm * scale.standardized_norm : 0.0;
}

__device__ __forceinline__ ChunkSums load_partial(const ChunkSums* partial) {
  return {__ldcg(&partial->squares), __ldcg(&partial->centred_squares), __ldcg(&partial->mean), 0};
}

// Rows split over chunks: the warp combines the parts of each and writes the row's mean.
template <class Real>
__device__ __noinline__ LaneSums combine_split_rows(const TensorChunks& tensor,
                                                    const ChunkSums* partials) {
  const int lane = warp_team().rank;
  LaneSums sums{};
  for (std::int64_t row = 0; row < tensor.rows; ++row) {
    const ChunkSums* parts = partials + row * tensor.chunks_per_row;
    const auto length_of = [&](std::int64_t part) {
      const std::int64_t left = tensor.span - part * tensor.chunk_elements;
      return static_cast<double>(left < tensor.chunk_elements ? left : tensor.chunk_elements);
    };
    double total = 0;
    for (std::int64_t part = lane; part < tensor.chunks_per_row; part += 32) {
      total += load_partial(parts + part).mean * length_of(part);
    }
    const Real mean = static_cast<Real>(warp_sum(total) / static_cast<double>(tensor.span));
    for (std::int64_t part = lane; part < tensor.chunks_per_row; part += 32) {
      const ChunkSums found = load_partial(parts + part);
      const Moments moments{found.mean, found.centred_squares};
      sums.centred_squares += squares_about(moments, length_of(part), static_cast<double>(mean));
      sums.squares += found.squares;
    }
    if (lane == 0) {
      static_cast<Real*>(tensor.row_means)[row] = mean;
    }
  }
  fence_acquire_release();
  return sums;
}

// Sums of `count` entries in a fixed order, known to all lanes. Entries are asked for many at a
// time, none of them alone: each would take as long as all, and the tensor's updates wait.
__device__ __forceinline__ ChunkSums add_up(const ChunkSums* entries, std::int64_t count) {
  constexpr int kAtOnce = 16;
  ChunkSums sums{};
  for (std::int64_t first = warp_team().rank; first < count; first += 32 * kAtOnce) {
    double2 found[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const std::int64_t at = first + 32 * k;
      found[k] =
          at < count ? __ldcg(reinterpret_cast<const double2*>(entries + at)) : double2{0.0, 0.0};
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      sums.squares += found[k].x;
      sums.centred_squares += found[k].y;
    }
  }
  return {warp_sum(sums.squares), warp_sum(sums.centred_squares), 0, 0};
}

// True in every lane of the warp that arrives last of `count`; what all of them wrote before is
// then visible to it, past the first-level cache, and to whoever sees what its lane 0 writes
// afterwards: the fence acquires and releases. The counter is 0 again.
__device__ __forceinline__ bool warp_arrives_last(unsigned int* counter, std::int64_t count) {
  unsigned int arrived = 0;
  __syncwarp();
  if (warp_team().rank == 0) {
    arrived = increment_release(counter, static_cast<unsigned int>(count - 1));
    if (arrived == static_cast<unsigned int>(count - 1)) {
      fence_acquire_release();
    }
  }
  return __shfl_sync(kFullWarp, arrived, 0) == static_cast<unsigned int>(count - 1);
}

// Hands in the sums of one chunk. True, with the tensor's sums, in the warp that completes the
// tensor: chunks are added up by families and families by tensor, so that no one waits for one
// warp to add up thousands.
template <class Real>
__device__ __forceinline__ bool complete_tensor(const StepArguments& step, std::int64_t index,
                                                const TensorChunks& tensor, std::int64_t chunk,
                                                ChunkSums& sums) {
  ChunkSums* partials = step.partials + tensor.first_partial;
  if (warp_team().rank == 0) {
    partials[chunk] = sums;
  }
  if (tensor.centralizes && tensor.outer == 1 && tensor.chunks_per_row > 1) {
    if (!warp_arrives_last(&step.tensor_done[index], tensor.chunks)) {
      return false;
    }
    const LaneSums found = combine_split_rows<Real>(step.tensors[index], partials);
    sums = {warp_sum(found.squares), warp_sum(found.centred_squares), 0, 0};
    return true;
  }
  const std::int64_t family = quotient(chunk, kFamily);
  const std::int64_t first = family * kFamily;
  const std::int64_t members = tensor.chunks - first < kFamily ? tensor.chunks - first : kFamily;
  if (!warp_arrives_last(&step.family_done[tensor.first_family + family], members)) {
    return false;
  }
  sums = add_up(partials + first, members);
  const std::int64_t families = quotient(tensor.chunks + kFamily - 1, kFamily);
  if (families == 1) {
    return true;
  }
  ChunkSums* family_sums = step.family_sums + tensor.first_family;
  if (warp_team().rank == 0) {
    family_sums[family] = sums;
  }
  if (!warp_arrives_last(&step.tensor_done[index], families)) {
    return false;
  }
  sums = add_up(family_sums, families);
  return true;
}

}  // namespace sing::cuda
