// The apply pass over one tile: waits for the tensor's result, then updates its elements.
#pragma once

#include "sing/backend/cuda/kernel/item_cursor.cuh"
#include "sing/backend/cuda/kernel/update.cuh"

namespace sing::cuda {

// The hot loop of one warp. It has several times as many words in flight as the memory latency
// needs, which also hides what a tile waits for before its first word. It is always inlined: saving
// registers around a call would move more bytes than the update itself.
// kPlain: the tensor has no master or copy, and this step neither starts nor merges slow weights.
// `next_mean`: row mean of this lane's first pack.
template <bool kPlain, class R, class Real, class G, class P>
__device__ __forceinline__ void update_packs(const UpdateView<R, Real, G, P>& view,
                                             PackPipeline<R, Real, G, P>& pipeline, int count,
                                             Real next_mean, ItemCursor& items) {
  constexpr int kWidth = kPackWidth<Real>;
  constexpr int kStride = PackPipeline<R, Real, G, P>::kStride;
  const TensorConstants<R, Real>& constants = view.constants;
  const bool reads_slow = !kPlain && constants.merges && !constants.starts;
  int i = lane_id() * kWidth;
  // The next pack's mean and slow weights are loaded while a pack is updated.
  WordOf<Real, kWidth> next_slow{};
  if (reads_slow && i < count) {
    next_slow = stream_word<Real, kWidth>(view.slow, i);
  }
  for (; i < count; i += kStride) {
    auto loaded = pipeline.template take<kPlain>(view);
    if (!kPlain && view.master != nullptr && constants.starts) {
      loaded.parameter = stream_word<P, kWidth>(view.parameter, i);
    }
    loaded.slow = next_slow;
    const Real mean = next_mean;
    if (i + kStride < count) {
      next_mean = view.means(static_cast<std::uint32_t>(i + kStride));
      if (reads_slow) {
        next_slow = stream_word<Real, kWidth>(view.slow, i + kStride);
      }
    }
    if (i + kStride >= count) {
      items.draw();
    }
    update_pack<kPlain, kWidth>(view, i, loaded, mean);
    pipeline.prefetch_next(view);
  }
}

// Waits for the tensor's result of this step. `result` is what was loaded earlier.
__device__ __forceinline__ void wait_until_measured(const StepArguments& step, std::int64_t index,
                                                    unsigned int generation,
                                                    MeasureResult& result) {
  while (result.generation != generation) {
    __nanosleep(32);
    result = load_result(&step.results[index]);
  }
  __syncwarp();
}

template <class R, class Real, class G, class P>
__device__ __forceinline__ bool allows_packs(const TensorRows& rows, const TensorArrays& tensor,
                                             const void* gradient) {
  constexpr int kState = static_cast<int>(sizeof(Real));
  bool allowed =
      packs_keep_to_rows(rows, kPackWidth<Real>) & is_pack_aligned<Real>(gradient, int{sizeof(G)}) &
      is_pack_aligned<Real>(tensor.parameter, int{sizeof(P)}) &
      is_pack_aligned<Real>(tensor.slow, kState) & is_pack_aligned<Real>(tensor.master, kState) &
      is_pack_aligned<Real>(tensor.low_precision_copy, 2);
  for (int k = 0; k < kElementSlots<R>; ++k) {
    allowed &= is_pack_aligned<Real>(tensor.slots[k], kState);
  }
  return !kHasSecondInput<R> && allowed;
}

// Called by one thread: advances a tensor's counters and its rule's scalars.
template <class R, class Real>
__device__ __forceinline__ void advance_counters(const StepArguments& step,
                                                 const TensorRecord& tensor,
                                                 const TensorConstants<R, Real>& constants) {
  const bool updates = constants.updates;
  TensorProgress& progress = *tensor.progress;
  progress.non_finite += constants.finite ? 0 : 1;
  progress.steps += updates ? 1 : 0;
  if constexpr (kHasScalars<R>) {
    for (std::size_t k = 0; updates && k < kScalarSlotCount<R>; ++k) {
      *static_cast<Real*>(tensor.slots[kFirstScalarSlot<R> + k]) = constants.scalars[k];
    }
  }
  if (!updates) {
    atomicAdd(&step.queue->skipped_tensors, 1ULL);
    // Orders the count before this thread's increment of `exited` (leave_queue).
    fence_acquire_release();
  }
}

__device__ __forceinline__ bool skips_steps(NonFinite policy) {
  return policy == NonFinite::kSkipStep || policy == NonFinite::kThrow;
}

__device__ __forceinline__ bool step_is_skipped(const StepArguments& step) {
  return skips_steps(step.optimizer->non_finite) && __ldcg(&step.queue->non_finite_code) != 0;
}

// Updates one tile by one warp, after its tensor is measured. The tensor's first tile also advances
// its counters. Whole packs are updated where arrays and rows allow it, and single elements after
// them and elsewhere. Tiles begin at multiples of a pack.
template <class R, class Real, class G, class P>
__device__ __forceinline__ void apply_tile(const StepArguments& step, const WorkItem& item,
                                           unsigned int generation, ItemCursor& items) {
  const std::int64_t index = item.tensor;
  const ElementRange range{item.index, item.index + item.elements};
  const auto rows = read_record<TensorRows>(&step.tensors[index]);
  const auto tensor = read_record<TensorArrays>(&step.tensors[index]);
  const GradientRecord gradient = read_record(&step.gradients[index]);
  MeasureResult result = load_result(&step.results[index]);
  if (gradient.data == nullptr || step_is_skipped(step)) {
    return;
  }
  const bool by_packs = allows_packs<R, Real, G, P>(rows, tensor, gradient.data);
  const std::int64_t packed_end =
      by_packs ? range.end / kPackWidth<Real> * kPackWidth<Real> : range.begin;
  const auto count = static_cast<int>(packed_end - range.begin);
  const auto arrays = arrays_from<R, Real, G, P>(tensor, gradient, range.begin);
  PackPipeline<R, Real, G, P> pipeline(arrays, count);
  wait_until_measured(step, index, generation, result);
  // Loaded together and once: the tile's packs wait for each of these loads.
  const TensorConstants<R, Real> constants = load_constants<R, Real>(step, index, result);
  const auto means = pack_means<Real>(rows, {range.begin, packed_end});
  const int first = lane_id() * kPackWidth<Real>;
  const Real first_mean = first < count ? means(static_cast<std::uint32_t>(first)) : Real(0);
  if (range.begin == 0 && lane_id() == 0) {
    advance_counters<R, Real>(step, step.tensors[index], constants);
  }
  if (!constants.updates) {
    Staging::wait<0>();
    return;
  }
  if (count > 0) {
    const auto view = make_view(tensor, gradient, arrays, range.begin, means, constants);
    const bool touches_slow = tensor.slow != nullptr && (constants.starts | constants.merges) != 0;
    if (tensor.master == nullptr && tensor.low_precision_copy == nullptr && !touches_slow) {
      update_packs<true>(view, pipeline, count, first_mean, items);
    } else {
      update_packs<false>(view, pipeline, count, first_mean, items);
    }
  }
  if (packed_end < range.end) {
    update_elements<R, Real, G, P>(step, index, {packed_end, range.end}, warp_team());
  }
}

}  // namespace sing::cuda
