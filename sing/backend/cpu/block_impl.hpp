// What every pass after measure reads of a block of elements: the standardized gradient, the
// parameter in full precision, the slots. Part of kernels_impl.hpp.

// The standardized gradient of one run of elements with a common row mean.
template <class Real, class From>
void standardize_run(const From* __restrict from, Real mean, Real factor, Real* __restrict to,
                     std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = standardized(static_cast<Real>(read<Real>(from[i])), mean, factor);
  }
}

// The same where neighbouring elements belong to neighbouring rows (the last axis is centralized).
template <class Real, class From>
void standardize_across(const From* __restrict from, const Real* __restrict means, Real factor,
                        Real* __restrict to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = standardized(static_cast<Real>(read<Real>(from[i])), means[i], factor);
  }
}

// Elements [begin, begin + count) of the tensor's standardized gradient.
template <class Real>
void standardize_block(const TensorPass& pass, std::int64_t begin, std::int64_t count, Real* to) {
  const TensorStep& tensor = *pass.tensor;
  const Layout& layout = tensor.layout;
  const auto factor = static_cast<Real>(pass.gradient_factor);
  const auto* means = static_cast<const Real*>(pass.row_means);
  with_type<Real>(tensor.gradient, tensor.gradient_dtype, begin, [&](auto* from) {
    if (means == nullptr) {
      standardize_run(from, Real(0), factor, to, count);
      return;
    }
    const bool across = layout.inner == 1;
    const std::int64_t period = across ? layout.rows : layout.inner;
    std::int64_t i = 0;
    while (i < count) {
      const std::int64_t within = (begin + i) % period;
      const std::int64_t run = least(count - i, period - within);
      if (across) {
        standardize_across(from + i, means + within, factor, to + i, run);
      } else {
        const std::int64_t row = (begin + i) / layout.inner % layout.rows;
        standardize_run(from + i, means[row], factor, to + i, run);
      }
      i += run;
    }
  });
}

template <class Real>
inline constexpr Real kNoMean = 0;

// Some of a tensor's gradient, to be standardized as it is read: runs of elements with a common
// mean.
template <class Real>
struct GradientBlock {
  const Real* values;
  const Real* means;       // of the runs
  std::int64_t first_run;  // elements of the first run; the last one ends with the block
  std::int64_t run;        // of each other
  Real factor;
  std::int64_t count;
};

// Elements from `begin` on, at most `count` of them: in memory as they are, or standardized in
// `buffer` where they need converting or rows are short.
template <class Real>
GradientBlock<Real> gradient_block(const TensorPass& pass, std::int64_t begin, std::int64_t count,
                                   Real* buffer) {
  const TensorStep& tensor = *pass.tensor;
  const Layout& layout = tensor.layout;
  const auto factor = static_cast<Real>(pass.gradient_factor);
  const Real* values = static_cast<const Real*>(tensor.gradient) + begin;
  // A gradient that is standardized in place must not alias what the update writes.
  const bool is_readable =
      tensor.gradient_dtype == kDtypeOf<Real> && tensor.gradient != tensor.parameter;
  if (is_readable && pass.row_means == nullptr) {
    return {values, &kNoMean<Real>, count, count, factor, count};
  }
  if (is_readable && layout.inner >= kLongRow) {
    const std::int64_t row = begin / layout.inner % layout.rows;
    const std::int64_t first_run = layout.inner - begin % layout.inner;
    return {values, static_cast<const Real*>(pass.row_means) + row, first_run, layout.inner, factor,
            // The row after the last one is the first again.
            least(count, first_run + (layout.rows - 1 - row) * layout.inner)};
  }
  standardize_block(pass, begin, count, buffer);
  return {buffer, &kNoMean<Real>, count, count, Real(1), count};
}

// Working memory of one block: what is not already in memory as Real.
template <class Real>
struct BlockBuffers {
  alignas(64) Real gradient[kApplyBlock];
  alignas(64) Real parameter[kApplyBlock];
  alignas(64) Real second_input[kApplyBlock];
  alignas(64) Real unused_slot[kApplyBlock];
};

// The element slots of a block; a slot that the options switch off is a row of zeros.
template <class R, class Real>
struct SlotPointers {
  Real* slot[kElementSlotCount<R> == 0 ? 1 : kElementSlotCount<R>];

  SlotPointers(const TensorStep& tensor, std::int64_t begin, std::int64_t count, Real* unused) {
    for (std::size_t k = 0; k < kElementSlotCount<R>; ++k) {
      slot[k] = static_cast<Real*>(tensor.slots[k]) + begin;
      if (tensor.slots[k] == nullptr) {
        for (std::int64_t i = 0; i < count; ++i) {
          unused[i] = 0;
        }
        slot[k] = unused;
      }
    }
  }
};

// Full-precision values of the parameter in [begin, begin + count), where updates are made: the
// master, the parameter itself, or a converted copy.
template <class Real>
Real* working_block(const TensorPass& pass, std::int64_t begin, std::int64_t count, Real* buffer) {
  const TensorStep& tensor = *pass.tensor;
  if constexpr (std::is_same_v<Real, float>) {
    if (tensor.master != nullptr) {
      if (pass.is_first) {
        with_type<Real>(tensor.parameter, tensor.dtype, begin,
                        [&](const auto* from) { widen(from, tensor.master + begin, count); });
      }
      return tensor.master + begin;
    }
  }
  if (tensor.dtype == kDtypeOf<Real>) {
    return static_cast<Real*>(tensor.parameter) + begin;
  }
  as_real(tensor.parameter, tensor.dtype, begin, count, buffer);
  return buffer;
}

// Runs the loop under known answers to "softplus?" and "near zero?": with a branch inside, a loop
// of this length does not vectorise. All calls are the same text; the compiler drops the other
// cases from each.
template <class Constants, class Loop>
SING_HOST_DEVICE void for_known_softplus(const Constants& constants, bool is_near_zero, Loop loop) {
  if constexpr (requires { constants.softplus; }) {
    Constants known = constants;
    if (known.softplus.beta > 0 && is_near_zero) {
      known.softplus.is_near_zero = true;
      loop(known);
    } else if (known.softplus.beta > 0) {
      known.softplus.is_near_zero = false;
      loop(known);
    } else {
      loop(known);
    }
  } else {
    loop(constants);
  }
}
