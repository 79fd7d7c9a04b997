// The apply pass over one tile: standardize, the rule's update, LookAhead, all in one visit.
// Bytes an element for AdamW in float32: 4 gradient, 8 parameter, 16 moments; 8 more in a merge.
#pragma once

#include "sing/backend/cuda/kernel/conclude.cuh"
#include "sing/backend/cuda/kernel/item_queue.cuh"
#include "sing/backend/cuda/kernel/pack_queue.cuh"

namespace sing::cuda {

// The arrays of a run of elements, and what the elements share. Held by value:
// what lay behind a reference would be loaded again after every store.
template <class R, class Real, class G, class P>
struct ChunkView : ChunkArrays<R, Real, G, P> {
  Real* slow;
  Sixteen* copy;
  PackMeans<Real> means;
  bool gradient_is_half, parameter_is_half, copy_is_half;
  Conclusion<R, Real> conclusion;
};

template <class R, class Real, class G, class P>
__device__ __forceinline__ ChunkView<R, Real, G, P> view_chunk(
    const TensorArrays& tensor, const GradientRecord& gradient,
    const ChunkArrays<R, Real, G, P>& arrays, std::int64_t first, const PackMeans<Real>& means,
    const Conclusion<R, Real>& conclusion) {
  return {arrays,
          array_from<Real>(tensor.slow, first),
          array_from<Sixteen>(tensor.low_precision_copy, first),
          means,
          static_cast<Dtype>(gradient.dtype) == Dtype::kFloat16,
          tensor.dtype == Dtype::kFloat16,
          tensor.low_precision_dtype == Dtype::kFloat16,
          conclusion};
}

template <class R, class Real, class G, class P>
__device__ __forceinline__ LoadedPack<R, Real, G, P, 1> load_element(
    const ChunkView<R, Real, G, P>& view, int i) {
  LoadedPack<R, Real, G, P, 1> loaded{};
  loaded.gradient = stream_word<G, 1>(view.gradient, i);
  if (view.master == nullptr || view.conclusion.starts) {
    loaded.parameter = stream_word<P, 1>(view.parameter, i);
  } else {
    loaded.master = stream_word<Real, 1>(view.master, i);
  }
#pragma unroll
  for (int k = 0; k < kElementSlots<R>; ++k) {
    if (view.slots[k] != nullptr) {
      loaded.slots[k] = stream_word<Real, 1>(view.slots[k], i);
    }
  }
  if (view.conclusion.merges && !view.conclusion.starts) {
    loaded.slow = stream_word<Real, 1>(view.slow, i);
  }
  return loaded;
}

// Elements as a rule's formulas see them, and their state.
template <class R, class Real, int kWidth>
struct Elements {
  Element<Real> element[kWidth];
  ElementState<R, Real> state[kWidth];
};

template <bool kPlain, int kWidth, class R, class Real, class G, class P>
__device__ __forceinline__ Elements<R, Real, kWidth> unpack_elements(
    const ChunkView<R, Real, G, P>& view, const LoadedPack<R, Real, G, P, kWidth>& loaded,
    Real mean) {
  const auto gradient = unpack<Real, G, kWidth>(loaded.gradient, view.gradient_is_half);
  auto parameter = unpack<Real, P, kWidth>(loaded.parameter, view.parameter_is_half);
  if (!kPlain && view.master != nullptr && !view.conclusion.starts) {
    parameter = unpack<Real, Real, kWidth>(loaded.master, false);
  }
  Elements<R, Real, kWidth> out;
#pragma unroll
  for (int j = 0; j < kWidth; ++j) {
    out.element[j] = {.gradient = standardized(gradient.value[j], mean, view.conclusion.factor),
                      .parameter = parameter.value[j],
                      .second_input = Real(0)};
  }
#pragma unroll
  for (int k = 0; k < kElementSlots<R>; ++k) {
    const auto pack = unpack<Real, Real, kWidth>(loaded.slots[k], false);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      out.state[j].slot[k] = pack.value[j];
    }
  }
  return out;
}

template <bool kPlain, int kWidth, class R, class Real, class G, class P>
__device__ __forceinline__ void store_pack(const ChunkView<R, Real, G, P>& view, int i,
                                           const Pack<Real, kWidth>& parameter,
                                           const Elements<R, Real, kWidth>& elements) {
  stream_store<P>(view.parameter, i, parameter, view.parameter_is_half);
  if (!kPlain && view.master != nullptr) {
    stream_store<Real>(view.master, i, parameter, false);
  }
  if constexpr (std::is_same_v<Real, float>) {
    if (!kPlain && view.copy != nullptr) {
      stream_store<Sixteen>(view.copy, i, parameter, view.copy_is_half);
    }
  }
#pragma unroll
  for (int k = 0; k < kElementSlots<R>; ++k) {
    if (view.slots[k] != nullptr) {
      Pack<Real, kWidth> pack;
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        pack.value[j] = elements.state[j].slot[k];
      }
      stream_store<Real>(view.slots[k], i, pack, false);
    }
  }
}

// The rule, LookAhead and the stores of one pack.
template <bool kPlain, int kWidth, class R, class Real, class G, class P>
__device__ __forceinline__ void finish_pack(const ChunkView<R, Real, G, P>& view, int i,
                                            const LoadedPack<R, Real, G, P, kWidth>& loaded,
                                            Elements<R, Real, kWidth>& elements) {
  const Conclusion<R, Real>& conclusion = view.conclusion;
  Pack<Real, kWidth> next;
#pragma unroll
  for (int j = 0; j < kWidth; ++j) {
    next.value[j] = R::update(conclusion.constants, elements.element[j], elements.state[j]);
  }
  if (!kPlain && (conclusion.starts || conclusion.merges) && view.slow != nullptr) {
    auto slow = unpack<Real, Real, kWidth>(loaded.slow, false);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      if (conclusion.starts) {
        slow.value[j] = elements.element[j].parameter;
      }
      if (conclusion.merges) {
        next.value[j] = Lookahead::merge(conclusion.merge_alpha, next.value[j], slow.value[j]);
        slow.value[j] = next.value[j];
      }
    }
    stream_store<Real>(view.slow, i, slow, false);
  }
  store_pack<kPlain, kWidth>(view, i, next, elements);
}

template <bool kPlain, int kWidth, class R, class Real, class G, class P>
__device__ __forceinline__ void update_pack(const ChunkView<R, Real, G, P>& view, int i,
                                            const LoadedPack<R, Real, G, P, kWidth>& loaded,
                                            Real mean) {
  auto elements = unpack_elements<kPlain, kWidth>(view, loaded, mean);
  finish_pack<kPlain, kWidth>(view, i, loaded, elements);
}

// The factored second moment of element i of the tensor.
template <class R, class Real>
__device__ __forceinline__ Real factored_moment(const TensorRecord& tensor, std::int64_t i) {
  constexpr std::size_t kRow = kElementSlotCount<R>;
  const std::int64_t row = quotient(i, tensor.columns);
  const std::int64_t matrix = quotient(row, tensor.matrix_rows);
  const std::int64_t column = matrix * tensor.columns + (i - row * tensor.columns);
  return R::factor_estimate(__ldca(static_cast<const Real*>(tensor.slots[kRow]) + row),
                            __ldca(static_cast<const Real*>(tensor.slots[kRow + 1]) + column),
                            __ldca(static_cast<const Real*>(tensor.matrix_means) + matrix));
}

template <class R, class Real>
__device__ __forceinline__ void add_second_input(const StepArguments& step, std::int64_t index,
                                                 std::int64_t i, Element<Real>& element) {
  if constexpr (kIsFactored<R>) {
    if (step.tensors[index].rank >= 2) {
      element.second_input = factored_moment<R, Real>(step.tensors[index], i);
    }
  } else if constexpr (kIsOrthogonal<R>) {
    if (step.orthogonal != nullptr) {
      element.second_input =
          __ldg(static_cast<const Real*>(step.orthogonal) + step.tensors[index].matrix_begin + i);
    }
  } else if constexpr (kTakesCurvature<R>) {
    const GradientRecord& gradient = step.gradients[index];
    const GradientRecord curvature{gradient.curvature, gradient.dtype, nullptr};
    element.second_input =
        gradient.curvature == nullptr
            ? element.gradient
            : load_gradient<Real>(curvature, i) * static_cast<Real>(1 / step.step->loss_scale);
  }
}

// Calls visit(view, element of the chunk, loaded, elements) for single elements: any alignment, any
// layout, rules with a second input.
template <class R, class Real, class G, class P, class Visit>
__device__ __forceinline__ void visit_elements(const StepArguments& step, std::int64_t index,
                                               Range range, Team team, Visit&& visit) {
  const TensorRecord& tensor = step.tensors[index];
  const RowMeans<Real> means(tensor);
  const GradientRecord& gradient = step.gradients[index];
  const auto view =
      view_chunk(tensor, gradient, arrays_from<R, Real, G, P>(tensor, gradient, range.begin),
                 range.begin, PackMeans<Real>{}, load_conclusion<R, Real>(step, index));
  for (int i = team.rank; i < range.end - range.begin; i += team.size) {
    const auto loaded = load_element(view, i);
    auto elements = unpack_elements<false, 1>(view, loaded, means(range.begin + i));
    add_second_input<R, Real>(step, index, range.begin + i, elements.element[0]);
    visit(view, i, loaded, elements);
  }
}

template <class R, class Real, class G, class P>
__device__ __noinline__ void update_elements(const StepArguments& step, std::int64_t index,
                                             Range range, Team team) {
  visit_elements<R, Real, G, P>(step, index, range, team,
                                [](const auto& view, int i, const auto& loaded, auto& elements) {
                                  finish_pack<false, 1>(view, i, loaded, elements);
                                });
}

// The hot loop, of one warp: several times as many words in flight as the memory's latency needs,
// so that it hides what a tile waits for before its first word. Never a
// call: saving registers around one costs more traffic than the state it updates.
// kPlain: the tensor has no master or copy, and this step neither starts nor merges slow weights.
// `next_mean`: of this lane's first pack.
template <bool kPlain, class R, class Real, class G, class P>
__device__ __forceinline__ void update_packs(const ChunkView<R, Real, G, P>& view,
                                             PackQueue<R, Real, G, P>& queue, int count,
                                             Real next_mean, ItemQueue& items) {
  constexpr int kWidth = kPackWidth<Real>;
  constexpr int kStride = PackQueue<R, Real, G, P>::kStride;
  const Conclusion<R, Real>& conclusion = view.conclusion;
  const bool reads_slow = !kPlain && conclusion.merges && !conclusion.starts;
  int i = warp_team().rank * kWidth;
  // Of the next pack, on their way while one is worked on: each would otherwise keep it waiting.
  WordOf<Real, kWidth> next_slow{};
  if (reads_slow && i < count) {
    next_slow = stream_word<Real, kWidth>(view.slow, i);
  }
  for (; i < count; i += kStride) {
    auto loaded = queue.template take<kPlain>(view);
    if (!kPlain && view.master != nullptr && conclusion.starts) {
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
    queue.ask_ahead(view);
  }
}

// `verdict`: the tensor's as it was read a while ago.
__device__ __forceinline__ void wait_until_measured(const StepArguments& step, std::int64_t index,
                                                    unsigned int epoch, Verdict& verdict) {
  while (verdict.epoch != epoch) {
    __nanosleep(32);
    verdict = load_verdict(&step.verdicts[index]);
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

// By one thread: what a tensor's update advances beside its elements.
template <class R, class Real>
__device__ __forceinline__ void advance_counters(const StepArguments& step,
                                                 const TensorRecord& tensor,
                                                 const Conclusion<R, Real>& conclusion) {
  const bool updates = conclusion.updates;
  TensorProgress& progress = *tensor.progress;
  progress.non_finite += conclusion.finite ? 0 : 1;
  progress.steps += updates ? 1 : 0;
  if constexpr (kHasScalars<R>) {
    for (std::size_t k = 0; updates && k < kScalarSlotCount<R>; ++k) {
      *static_cast<Real*>(tensor.slots[kFirstScalarSlot<R> + k]) = conclusion.scalars[k];
    }
  }
  if (!updates) {
    atomicAdd(&step.queue->skipped_tensors, 1ULL);
    fence_acquire_release();  // before this warp leaves the queue
  }
}

__device__ __forceinline__ bool skips_steps(NonFinite policy) {
  return policy == NonFinite::kSkipStep || policy == NonFinite::kThrow;
}

__device__ __forceinline__ bool step_is_skipped(const StepArguments& step) {
  return skips_steps(step.step->non_finite) && __ldcg(&step.queue->non_finite_code) != 0;
}

// Updates one tile by one warp when its tensor is measured; a tensor's first one advances its
// counters. Whole packs where arrays and rows allow it, single elements after them and otherwise.
// Tiles begin at multiples of a pack.
template <class R, class Real, class G, class P>
__device__ __forceinline__ void apply_tile(const StepArguments& step, const WorkItem& item,
                                           unsigned int epoch, ItemQueue& items) {
  const std::int64_t index = item.tensor;
  const Range range{item.index, item.index + item.elements};
  const auto rows = read_record<TensorRows>(&step.tensors[index]);
  const auto tensor = read_record<TensorArrays>(&step.tensors[index]);
  const GradientRecord gradient = read_record(&step.gradients[index]);
  Verdict verdict = load_verdict(&step.verdicts[index]);
  if (gradient.data == nullptr || step_is_skipped(step)) {
    return;
  }
  const bool by_packs = allows_packs<R, Real, G, P>(rows, tensor, gradient.data);
  const std::int64_t packed_end =
      by_packs ? range.end / kPackWidth<Real> * kPackWidth<Real> : range.begin;
  const auto count = static_cast<int>(packed_end - range.begin);
  const auto arrays = arrays_from<R, Real, G, P>(tensor, gradient, range.begin);
  PackQueue<R, Real, G, P> queue(arrays, count);
  wait_until_measured(step, index, epoch, verdict);
  // On their way together, and loaded once: each reading keeps the tile's own loads waiting.
  const Conclusion<R, Real> conclusion = load_conclusion<R, Real>(step, index, verdict);
  const auto means = pack_means<Real>(rows, {range.begin, packed_end});
  const int first = warp_team().rank * kPackWidth<Real>;
  const Real first_mean = first < count ? means(static_cast<std::uint32_t>(first)) : Real(0);
  if (range.begin == 0 && warp_team().rank == 0) {
    advance_counters<R, Real>(step, step.tensors[index], conclusion);
  }
  if (!conclusion.updates) {
    Staging::wait<0>();
    return;
  }
  if (count > 0) {
    const auto view = view_chunk(tensor, gradient, arrays, range.begin, means, conclusion);
    const bool touches_slow =
        tensor.slow != nullptr && (conclusion.starts | conclusion.merges) != 0;
    if (tensor.master == nullptr && tensor.low_precision_copy == nullptr && !touches_slow) {
      update_packs<true>(view, queue, count, first_mean, items);
    } else {
      update_packs<false>(view, queue, count, first_mean, items);
    }
  }
  if (packed_end < range.end) {
    update_elements<R, Real, G, P>(step, index, {packed_end, range.end}, warp_team());
  }
}

}  // namespace sing::cuda
