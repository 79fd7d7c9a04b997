// Passes that read all elements before one is updated: the rule's sums over a tensor, and the
// matrix that it makes orthogonal.
#pragma once

#include <utility>

#include "sing/backend/cpu/kernel/block.hpp"
#include "sing/backend/cpu/kernel/known_softplus.hpp"
#include "sing/backend/cpu/kernel/lanes.hpp"

namespace sing::cpu::SING_ISA {
namespace {

template <class R, class Real, std::size_t... S, class... SlotPointer>
void sum_block(std::index_sequence<S...>,
               const typename R::template Constants<Real>& shared_constants,
               const Element<const Real*>& block, Real (&values)[kSumCount<R>][kBlock],
               std::int64_t count, const SlotPointer* __restrict... slot) {
  for_known_softplus(
      shared_constants, false, [&](const auto constants) __attribute__((always_inline)) {
        for (std::int64_t i = 0; i < count; ++i) {
          const ElementState<R, Real> state{{slot[i]...}};
          Real out[kSumCount<R>];
          R::sums(constants,
                  Element<Real>{block.gradient[i], block.parameter[i],
                                kHasSecondInput<R> ? block.second_input[i] : Real(0)},
                  state, out);
          for (std::size_t k = 0; k < kSumCount<R>; ++k) {
            values[k][i] = out[k];
          }
        }
      });
}

template <class R, class Real>
void sum(const UpdateArguments& update, IndexRange elements, double* totals) {
  const TensorStep& tensor = *update.tensor;
  BlockBuffers<Real> buffers;
  Real values[kSumCount<R>][kBlock];
  for (std::int64_t begin = elements.begin; begin < elements.end; begin += kBlock) {
    const std::int64_t count = least(kBlock, elements.end - begin);
    standardize_block(update, begin, count, buffers.gradient);
    const Real* parameter = working_block(update, begin, count, buffers.parameter);
    const SlotPointers<R, Real> slots(tensor, begin, count, buffers.unused_slot);
    [&]<std::size_t... S>(std::index_sequence<S...> sequence) {
      sum_block<R>(
          sequence, constants_of<R, Real>(update),
          Element<const Real*>{buffers.gradient, parameter,
                               second_input_block<R>(update, begin, count, buffers.second_input)},
          values, count, slots.slot[S]...);
    }(std::make_index_sequence<kElementSlotCount<R>>{});
    for (std::size_t k = 0; k < kSumCount<R>; ++k) {
      totals[k] += static_cast<double>(sum_of(static_cast<const Real*>(values[k]), count));
    }
  }
}

template <class R, class Real, std::size_t... S, class... SlotPointer>
void matrix_input_block(std::index_sequence<S...>,
                        const typename R::template Constants<Real>& constants,
                        const Element<const Real*>& block, Real* __restrict out, std::int64_t count,
                        const SlotPointer* __restrict... slot) {
  for (std::int64_t i = 0; i < count; ++i) {
    const ElementState<R, Real> state{{slot[i]...}};
    out[i] = R::matrix_input(constants,
                             Element<Real>{block.gradient[i], block.parameter[i], Real(0)}, state);
  }
}

template <class R, class Real>
void matrix_input(const UpdateArguments& update, IndexRange elements, void* matrix) {
  const TensorStep& tensor = *update.tensor;
  BlockBuffers<Real> buffers;
  for (std::int64_t begin = elements.begin; begin < elements.end; begin += kBlock) {
    const std::int64_t count = least(kBlock, elements.end - begin);
    standardize_block(update, begin, count, buffers.gradient);
    const Real* parameter = working_block(update, begin, count, buffers.parameter);
    const SlotPointers<R, Real> slots(tensor, begin, count, buffers.unused_slot);
    [&]<std::size_t... S>(std::index_sequence<S...> sequence) {
      matrix_input_block<R>(sequence, constants_of<R, Real>(update),
                            Element<const Real*>{buffers.gradient, parameter, nullptr},
                            static_cast<Real*>(matrix) + begin, count,
                            static_cast<const Real*>(slots.slot[S])...);
    }(std::make_index_sequence<kElementSlotCount<R>>{});
  }
}

}  // namespace
}  // namespace sing::cpu::SING_ISA
