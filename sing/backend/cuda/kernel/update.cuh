// The update of elements: standardize, the rule's update and LookAhead while they are in registers.
// Bytes per element for AdamW in float32: 4 gradient, 8 parameter, 16 moments; 8 more in a merge.
#pragma once

#include "sing/backend/cuda/kernel/pack_pipeline.cuh"
#include "sing/backend/cuda/kernel/row_means.cuh"
#include "sing/backend/cuda/kernel/tensor_constants.cuh"

namespace sing::cuda {

// The arrays of a run of elements, and the numbers that the elements share. All of it is held by
// value: the compiler would load it again after every store if it were a reference.
template <class R, class Real, class G, class P>
struct UpdateView : UpdateArrays<R, Real, G, P> {
  Real* slow;
  Bits16* copy;
  PackMeans<Real> means;
  bool gradient_is_half, parameter_is_half, copy_is_half;
  TensorConstants<R, Real> constants;
};

template <class R, class Real, class G, class P>
__device__ __forceinline__ UpdateView<R, Real, G, P> make_view(
    const TensorArrays& tensor, const GradientRecord& gradient,
    const UpdateArrays<R, Real, G, P>& arrays, std::int64_t first, const PackMeans<Real>& means,
    const TensorConstants<R, Real>& constants) {
  return {arrays,
          array_from<Real>(tensor.slow, first),
          array_from<Bits16>(tensor.low_precision_copy, first),
          means,
          static_cast<Dtype>(gradient.dtype) == Dtype::kFloat16,
          tensor.dtype == Dtype::kFloat16,
          tensor.low_precision_dtype == Dtype::kFloat16,
          constants};
}

template <class R, class Real, class G, class P>
__device__ __forceinline__ LoadedPack<R, Real, G, P, 1> load_element(
    const UpdateView<R, Real, G, P>& view, int i) {
  LoadedPack<R, Real, G, P, 1> loaded{};
  loaded.gradient = stream_word<G, 1>(view.gradient, i);
  if (view.master == nullptr || view.constants.starts) {
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
  if (view.constants.merges && !view.constants.starts) {
    loaded.slow = stream_word<Real, 1>(view.slow, i);
  }
  return loaded;
}

// Elements as a rule's formulas take them, and their state.
template <class R, class Real, int kWidth>
struct Elements {
  Element<Real> element[kWidth];
  ElementState<R, Real> state[kWidth];
};

template <bool kPlain, int kWidth, class R, class Real, class G, class P>
__device__ __forceinline__ Elements<R, Real, kWidth> unpack_elements(
    const UpdateView<R, Real, G, P>& view, const LoadedPack<R, Real, G, P, kWidth>& loaded,
    Real mean) {
  const auto gradient = unpack<Real, G, kWidth>(loaded.gradient, view.gradient_is_half);
  auto parameter = unpack<Real, P, kWidth>(loaded.parameter, view.parameter_is_half);
  if (!kPlain && view.master != nullptr && !view.constants.starts) {
    parameter = unpack<Real, Real, kWidth>(loaded.master, false);
  }
  Elements<R, Real, kWidth> out;
#pragma unroll
  for (int j = 0; j < kWidth; ++j) {
    out.element[j] = {.gradient = standardized(gradient.value[j], mean, view.constants.factor),
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
__device__ __forceinline__ void store_pack(const UpdateView<R, Real, G, P>& view, int i,
                                           const Pack<Real, kWidth>& parameter,
                                           const Elements<R, Real, kWidth>& elements) {
  stream_store<P>(view.parameter, i, parameter, view.parameter_is_half);
  if (!kPlain && view.master != nullptr) {
    stream_store<Real>(view.master, i, parameter, false);
  }
  if constexpr (std::is_same_v<Real, float>) {
    if (!kPlain && view.copy != nullptr) {
      stream_store<Bits16>(view.copy, i, parameter, view.copy_is_half);
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

// Runs the rule and LookAhead on one pack and stores it.
template <bool kPlain, int kWidth, class R, class Real, class G, class P>
__device__ __forceinline__ void finish_pack(const UpdateView<R, Real, G, P>& view, int i,
                                            const LoadedPack<R, Real, G, P, kWidth>& loaded,
                                            Elements<R, Real, kWidth>& elements) {
  const TensorConstants<R, Real>& constants = view.constants;
  Pack<Real, kWidth> next;
#pragma unroll
  for (int j = 0; j < kWidth; ++j) {
    next.value[j] = R::update(constants.rule, elements.element[j], elements.state[j]);
  }
  if (!kPlain && (constants.starts || constants.merges) && view.slow != nullptr) {
    auto slow = unpack<Real, Real, kWidth>(loaded.slow, false);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      if (constants.starts) {
        slow.value[j] = elements.element[j].parameter;
      }
      if (constants.merges) {
        next.value[j] = Lookahead::merge(constants.merge_alpha, next.value[j], slow.value[j]);
        slow.value[j] = next.value[j];
      }
    }
    stream_store<Real>(view.slow, i, slow, false);
  }
  store_pack<kPlain, kWidth>(view, i, next, elements);
}

template <bool kPlain, int kWidth, class R, class Real, class G, class P>
__device__ __forceinline__ void update_pack(const UpdateView<R, Real, G, P>& view, int i,
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
            : load_gradient<Real>(curvature, i) * static_cast<Real>(1 / step.optimizer->loss_scale);
  }
}

// Calls visit(view, offset in the range, loaded, elements) for each element alone: for any
// alignment and layout, and for rules with a second input.
template <class R, class Real, class G, class P, class Visit>
__device__ __forceinline__ void visit_elements(const StepArguments& step, std::int64_t index,
                                               ElementRange range, Team team, Visit&& visit) {
  const TensorRecord& tensor = step.tensors[index];
  const RowMeans<Real> means(tensor);
  const GradientRecord& gradient = step.gradients[index];
  const auto view =
      make_view(tensor, gradient, arrays_from<R, Real, G, P>(tensor, gradient, range.begin),
                range.begin, PackMeans<Real>{}, load_constants<R, Real>(step, index));
  for (int i = team.rank; i < range.end - range.begin; i += team.size) {
    const auto loaded = load_element(view, i);
    auto elements = unpack_elements<false, 1>(view, loaded, means(range.begin + i));
    add_second_input<R, Real>(step, index, range.begin + i, elements.element[0]);
    visit(view, i, loaded, elements);
  }
}

template <class R, class Real, class G, class P>
__device__ __noinline__ void update_elements(const StepArguments& step, std::int64_t index,
                                             ElementRange range, Team team) {
  visit_elements<R, Real, G, P>(step, index, range, team,
                                [](const auto& view, int i, const auto& loaded, auto& elements) {
                                  finish_pack<false, 1>(view, i, loaded, elements);
                                });
}

}  // namespace sing::cuda
