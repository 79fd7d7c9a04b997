// Apply: all element rules of a step in one pass over memory, a block at a time so that what the
// stages hand to each other stays in cache. Part of kernels_impl.hpp.

// Fetches what the next `bytes` bytes of the loop leave room for.
SING_HOST_DEVICE void fetch(Upcoming& upcoming, std::int64_t bytes) {
  const std::int64_t fetched = least(upcoming.bytes, bytes);
  for (std::int64_t i = 0; i < fetched; i += kCacheLine) {
    __builtin_prefetch(upcoming.data + i);
  }
  upcoming.data += fetched;
  upcoming.bytes -= fetched;
}

// The only loop over elements that updates them. Slots are separate restrict pointers so that the
// compiler vectorises it.
template <class R, class Real, std::size_t... S, class... SlotPointer>
void update_block(std::index_sequence<S...>,
                  const typename R::template Constants<Real>& shared_constants,
                  const GradientBlock<Real>& block,
                  const Real* __restrict second_input,
                  Real* __restrict parameter,
                  Upcoming& upcoming,
                  SlotPointer* __restrict... slot) {
  const typename R::template Constants<Real> constants = shared_constants;
  const Real* __restrict gradient = block.values;
  const Real mean = block.mean;
  const Real factor = block.factor;
  const std::int64_t count = block.count;
  for_softplus_on_or_off(
      constants, [&]() __attribute__((always_inline)) {
        for (std::int64_t begin = 0; begin < count; begin += kFetchStep) {
          const std::int64_t end = least(begin + kFetchStep, count);
          fetch(upcoming, kFetchStep * static_cast<std::int64_t>(sizeof(Real)));
          for (std::int64_t i = begin; i < end; ++i) {
            ElementState<R, Real> state{{slot[i]...}};
            const Element<Real> element{standardized(gradient[i], mean, factor),
                                        parameter[i],
                                        kHasSecondInput<R> ? second_input[i] : Real(0)};
            parameter[i] = R::update(constants, element, state);
            ((slot[i] = state.slot[S]), ...);
          }
        }
      });
}

template <class Real>
void merge_block(Real* __restrict parameter,
                 Real* __restrict slow,
                 Real alpha,
                 std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    parameter[i] = Lookahead::merge(alpha, parameter[i], slow[i]);
    slow[i] = parameter[i];
  }
}

template <class R, class Real>
void apply(const TensorPass& pass, Range elements, Upcoming upcoming) {
  const TensorStep& tensor = *pass.tensor;
  const auto& constants = *static_cast<const typename R::template Constants<Real>*>(pass.constants);
  BlockBuffers<Real> buffers;
  for (std::int64_t begin = elements.begin; begin < elements.end;) {
    const GradientBlock<Real> gradient =
        gradient_block(pass, begin, least(kApplyBlock, elements.end - begin), buffers.gradient);
    const std::int64_t count = gradient.count;
    Real* parameter = working_block(pass, begin, count, buffers.parameter);
    Real* slow = tensor.slow == nullptr ? nullptr : static_cast<Real*>(tensor.slow) + begin;
    if (pass.is_first && slow != nullptr) {
      widen(static_cast<const Real*>(parameter), slow, count);
    }
    const Real* second_input = second_input_block<R>(pass, begin, count, buffers.second_input);
    const SlotPointers<R, Real> slots(tensor, begin, count, buffers.unused_slot);
    [&]<std::size_t... S>(std::index_sequence<S...> sequence) {
      update_block<R>(
          sequence, constants, gradient, second_input, parameter, upcoming, slots.slot[S]...);
    }
    (std::make_index_sequence<kElementSlotCount<R>>{});
    if (pass.merges) {
      merge_block(parameter, slow, static_cast<Real>(pass.merge_alpha), count);
    }
    if (parameter == buffers.parameter || tensor.master != nullptr) {
      store_as(tensor.parameter, tensor.dtype, begin, count, parameter);
    }
    if (tensor.low_precision_copy != nullptr) {
      store_as(tensor.low_precision_copy, tensor.low_precision_dtype, begin, count, parameter);
    }
    begin += count;
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
  if constexpr (kSumCount < R >> 0) {
    kernels.sum = sum<R, Real>;
  }
  if constexpr (kIsOrthogonal<R>) {
    kernels.matrix_input = matrix_input<R, Real>;
  }
  return kernels;
}
