// The apply pass: all element rules of a step in one pass over memory, a block at a time.
#pragma once

#include <utility>

#include "sing/backend/cpu/kernel/block.hpp"
#include "sing/backend/cpu/kernel/known_softplus.hpp"
#include "sing/backend/cpu/kernel/measure.hpp"

namespace sing::cpu::SING_ISA {
namespace {

// The sum of squares of a gradient that the update itself measures.
template <class Real>
struct BlockSquares {
  bool are_wanted;  // the block holds the gradient as it was given, and its squares are needed
  Lanes<Real> squared;
};

// The only loop that updates elements. Slots are separate restrict pointers so that the compiler
// vectorizes it.
template <class R, class Real, std::size_t... S, class... SlotPointer>
// NOLINTNEXTLINE(readability-function-size): in a struct the pointers would not be restrict
void update_block(std::index_sequence<S...>,
                  const typename R::template Constants<Real>& shared_constants,
                  const GradientBlock<Real>& block, const Real* __restrict second_input,
                  Real* __restrict parameter, BlockSquares<Real>& squares,
                  SlotPointer* __restrict... slot) {
  const Real* __restrict gradient = block.values;
  const Real factor = block.factor;
  const auto update = [&](const auto& constants, Real mean,
                          IndexRange elements) __attribute__((always_inline)) {
    for (std::int64_t i = elements.begin; i < elements.end; ++i) {
      ElementState<R, Real> state{{slot[i]...}};
      const Element<Real> element{standardized(gradient[i], mean, factor), parameter[i],
                                  kHasSecondInput<R> ? second_input[i] : Real(0)};
      parameter[i] = R::update(constants, element, state);
      ((slot[i] = state.slot[S]), ...);
    }
  };
  const Real* next_mean = block.means;
  std::int64_t run_end = least(block.first_run, block.count);
  for (std::int64_t run_begin = 0; run_begin < block.count;) {
    const Real mean = *next_mean++;
    for (std::int64_t begin = run_begin; begin < run_end; begin += kUpdateStep) {
      const IndexRange elements{begin, least(begin + kUpdateStep, run_end)};
      if (squares.are_wanted) {
        add_squares(gradient + begin, elements.end - begin, squares.squared);
      }
      for_known_softplus(shared_constants,
                         is_near_zero<R>(shared_constants, block, mean, elements, slot...),
                         [&](const auto& constants)
                             __attribute__((always_inline)) { update(constants, mean, elements); });
    }
    run_begin = run_end;
    run_end = least(run_begin + block.run, block.count);
  }
}

template <class Real>
void merge_block(Real* __restrict parameter, Real* __restrict slow, Real alpha,
                 std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    parameter[i] = Lookahead::merge(alpha, parameter[i], slow[i]);
    slow[i] = parameter[i];
  }
}

template <class R, class Real>
double apply(const UpdateArguments& update, IndexRange elements) {
  const TensorStep& tensor = *update.tensor;
  const auto& constants =
      *static_cast<const typename R::template Constants<Real>*>(update.constants);
  BlockBuffers<Real> buffers;
  double squares = 0;
  for (std::int64_t begin = elements.begin; begin < elements.end;) {
    const GradientBlock<Real> gradient =
        gradient_block(update, begin, least(kBlock, elements.end - begin), buffers.gradient);
    const std::int64_t count = gradient.count;
    const bool is_as_given = gradient.values != buffers.gradient;
    BlockSquares<Real> of_block{update.measures && is_as_given, {}};
    if (update.measures && !is_as_given) {
      squares += measure_squares<Real>(tensor, {begin, begin + count});
    }
    Real* parameter = working_block(update, begin, count, buffers.parameter);
    Real* slow = tensor.slow == nullptr ? nullptr : static_cast<Real*>(tensor.slow) + begin;
    if (update.is_first && slow != nullptr) {
      widen(static_cast<const Real*>(parameter), slow, count);
    }
    const Real* second_input = second_input_block<R>(update, begin, count, buffers.second_input);
    const SlotPointers<R, Real> slots(tensor, begin, count, buffers.unused_slot);
    [&]<std::size_t... S>(std::index_sequence<S...> sequence) {
      update_block<R>(sequence, constants, gradient, second_input, parameter, of_block,
                      slots.slot[S]...);
    }(std::make_index_sequence<kElementSlotCount<R>>{});
    if (of_block.are_wanted) {
      squares += static_cast<double>(of_block.squared.total());
    }
    if (update.merges) {
      merge_block(parameter, slow, static_cast<Real>(update.merge_alpha), count);
    }
    if (parameter == buffers.parameter || tensor.master != nullptr) {
      store_as(tensor.parameter, tensor.dtype, begin, count, parameter);
    }
    if (tensor.low_precision_copy != nullptr) {
      store_as(tensor.low_precision_copy, tensor.low_precision_dtype, begin, count, parameter);
    }
    begin += count;
  }
  return squares;
}

}  // namespace
}  // namespace sing::cpu::SING_ISA
