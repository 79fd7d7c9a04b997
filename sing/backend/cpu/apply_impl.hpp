// Apply: all element rules of a step in one pass over memory, a block at a time so that what the
// stages hand to each other stays in cache. Part of kernels_impl.hpp.

// The only loop over elements that updates them. Slots are separate restrict pointers so that the
// compiler vectorises it.
template <class R, class Real, std::size_t... S, class... SlotPointer>
void update_block(std::index_sequence<S...>,
                  const typename R::template Constants<Real>& shared_constants,
                  const Real* __restrict gradient,
                  const Real* __restrict second_moment,
                  Real* __restrict parameter,
                  std::int64_t count,
                  SlotPointer* __restrict... slot) {
  const typename R::template Constants<Real> constants = shared_constants;
  for_softplus_on_or_off(constants, [&]() __attribute__((always_inline)) {
    for (std::int64_t i = 0; i < count; ++i) {
      ElementState<R, Real> state{{slot[i]...}};
      const Element<Real> element{gradient[i], parameter[i], kIsFactored<R> ? second_moment[i] : Real(0)};
      parameter[i] = R::update(constants, element, state);
      ((slot[i] = state.slot[S]), ...);
    }
  });
}

// Asks for the lines that the next block will need. The hardware's own prefetch stops at the end of
// a page, which is one block, and the arithmetic of this block would otherwise not overlap with it.
SING_HOST_DEVICE void prefetch(const void* data, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += 64) {
    __builtin_prefetch(static_cast<const char*>(data) + i);
  }
}

template <class R, class Real>
SING_HOST_DEVICE void prefetch_ahead(const TensorStep& tensor, std::int64_t begin, std::int64_t count) {
  const auto bytes = count * static_cast<std::int64_t>(sizeof(Real));
  if (tensor.master != nullptr) {
    prefetch(tensor.master + begin, bytes);
  } else if (tensor.dtype == kDtypeOf<Real>) {
    prefetch(static_cast<const Real*>(tensor.parameter) + begin, bytes);
  }
  for (std::size_t k = 0; k < kElementSlotCount<R>; ++k) {
    if (tensor.slots[k] != nullptr) {
      prefetch(static_cast<const Real*>(tensor.slots[k]) + begin, bytes);
    }
  }
}

template <class Real>
void merge_block(Real* __restrict parameter, Real* __restrict slow, Real alpha, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    parameter[i] = Lookahead::merge(alpha, parameter[i], slow[i]);
    slow[i] = parameter[i];
  }
}

template <class R, class Real>
void apply(const TensorPass& pass, Range elements) {
  const TensorStep& tensor = *pass.tensor;
  const auto& constants = *static_cast<const typename R::template Constants<Real>*>(pass.constants);
  BlockBuffers<Real> buffers;
  for (std::int64_t begin = elements.begin; begin < elements.end; begin += kApplyBlock) {
    const std::int64_t count = least(kApplyBlock, elements.end - begin);
    standardize_block(pass, begin, count, buffers.gradient);
    Real* parameter = working_block(pass, begin, count, buffers.parameter);
    Real* slow = tensor.slow == nullptr ? nullptr : static_cast<Real*>(tensor.slow) + begin;
    if (pass.is_first && slow != nullptr) {
      widen(static_cast<const Real*>(parameter), slow, count);
    }
    estimate_block<R>(pass, begin, count, buffers.second_moment);
    const SlotPointers<R, Real> slots(tensor, begin, count, buffers.unused_slot);
    for (std::int64_t i = 0; i < count; i += kPrefetchStep) {
      const std::int64_t n = least(kPrefetchStep, count - i);
      const std::int64_t ahead = begin + i + kApplyBlock;
      if (ahead + n <= elements.end) {
        prefetch_ahead<R, Real>(tensor, ahead, n);
      }
      [&]<std::size_t... S>(std::index_sequence<S...> sequence) {
        update_block<R>(sequence,
                        constants,
                        buffers.gradient + i,
                        buffers.second_moment + i,
                        parameter + i,
                        n,
                        (slots.slot[S] + i)...);
      }(std::make_index_sequence<kElementSlotCount<R>>{});
    }
    if (pass.merges) {
      merge_block(parameter, slow, static_cast<Real>(pass.merge_alpha), count);
    }
    if (parameter == buffers.parameter || tensor.master != nullptr) {
      store_as(tensor.parameter, tensor.dtype, begin, count, parameter);
    }
    if (tensor.low_precision_copy != nullptr) {
      store_as(tensor.low_precision_copy, tensor.low_precision_dtype, begin, count, parameter);
    }
  }
}

template <class R, class Real>
constexpr RealKernels::OfRule make_rule_kernels() {
  RealKernels::OfRule kernels{};
  kernels.apply = apply<R, Real>;
  if constexpr (kIsFactored<R>) {
    kernels.factor_rows = factor_rows<R, Real>;
    kernels.factor_columns = factor_columns<R, Real>;
  }
  if constexpr (kSumCount<R> > 0) {
    kernels.sum = sum<R, Real>;
  }
  return kernels;
}
