// The inputs of a block of elements, which every pass after measure reads: the standardized
// gradient, the parameter in full precision, the slots and the second input.
#pragma once

#include "sing/backend/cpu/kernel/element_arrays.hpp"
#include "sing/backend/cpu/kernels.hpp"

namespace sing::cpu::SING_ISA {
namespace {

// Rows of at least this many elements are standardized as they are read, one loop per row.
inline constexpr std::int64_t kLongRow = 128;

// Standardizes a run: consecutive elements with the same row mean.
template <class Real, class From>
void standardize_run(const From* __restrict from, Real mean, Real factor, Real* __restrict to,
                     std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = standardized(static_cast<Real>(read<Real>(from[i])), mean, factor);
  }
}

// Standardizes elements that belong to consecutive rows, as where the last axis is centralized.
template <class Real, class From>
void standardize_across(const From* __restrict from, const Real* __restrict means, Real factor,
                        Real* __restrict to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = standardized(static_cast<Real>(read<Real>(from[i])), means[i], factor);
  }
}

// Writes elements [begin, begin + count) of the standardized gradient.
template <class Real>
void standardize_block(const UpdateArguments& update, std::int64_t begin, std::int64_t count,
                       Real* to) {
  const TensorStep& tensor = *update.tensor;
  const Layout& layout = tensor.layout;
  const auto factor = static_cast<Real>(update.gradient_factor);
  const auto* means = static_cast<const Real*>(update.row_means);
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

// A block of a tensor's gradient, to be standardized as it is read: runs of elements with the same
// row mean.
template <class Real>
struct GradientBlock {
  const Real* values;
  const Real* means;       // one per run
  std::int64_t first_run;  // elements of the first run; the last run ends with the block
  std::int64_t run;        // elements of every other run
  Real factor;
  std::int64_t count;
};

// At most `count` elements, the first at `begin`: raw in memory, or standardized in `buffer`
// if they have another type or their rows are short.
template <class Real>
GradientBlock<Real> gradient_block(const UpdateArguments& update, std::int64_t begin,
                                   std::int64_t count, Real* buffer) {
  const TensorStep& tensor = *update.tensor;
  const Layout& layout = tensor.layout;
  const auto factor = static_cast<Real>(update.gradient_factor);
  const Real* values = static_cast<const Real*>(tensor.gradient) + begin;
  // A gradient that is read in place must not alias what the update writes.
  const bool is_readable =
      tensor.gradient_dtype == kDtypeOf<Real> && tensor.gradient != tensor.parameter;
  if (is_readable && update.row_means == nullptr) {
    return {values, &kNoMean<Real>, count, count, factor, count};
  }
  if (is_readable && layout.inner >= kLongRow) {
    const std::int64_t row = begin / layout.inner % layout.rows;
    const std::int64_t first_run = layout.inner - begin % layout.inner;
    return {values, static_cast<const Real*>(update.row_means) + row, first_run, layout.inner,
            factor,
            // The row after the last one is the first again.
            least(count, first_run + (layout.rows - 1 - row) * layout.inner)};
  }
  standardize_block(update, begin, count, buffer);
  return {buffer, &kNoMean<Real>, count, count, Real(1), count};
}

// Memory for the inputs of a block that are not already in memory as Real.
template <class Real>
struct BlockBuffers {
  alignas(64) Real gradient[kBlock];
  alignas(64) Real parameter[kBlock];
  alignas(64) Real second_input[kBlock];
  alignas(64) Real unused_slot[kBlock];
};

// The element slots of a block. A slot that the options switch off reads as zeros.
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

// The full-precision values of the parameter in [begin, begin + count), which the update changes:
// the master, the parameter itself, or a converted copy.
template <class Real>
Real* working_block(const UpdateArguments& update, std::int64_t begin, std::int64_t count,
                    Real* buffer) {
  const TensorStep& tensor = *update.tensor;
  if constexpr (std::is_same_v<Real, float>) {
    if (tensor.master != nullptr) {
      if (update.is_first) {
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

template <class R, class Real>
Real* row_slot(const TensorStep& tensor) {
  return static_cast<Real*>(tensor.slots[kElementSlotCount<R>]);
}

template <class R, class Real>
Real* column_slot(const TensorStep& tensor) {
  return static_cast<Real*>(tensor.slots[kElementSlotCount<R> + 1]);
}

template <class R, class Real>
const typename R::template Constants<Real>& constants_of(const UpdateArguments& update) {
  return *static_cast<const typename R::template Constants<Real>*>(update.constants);
}

// Writes the factored second moments of elements [begin, begin + count); nothing for other rules.
template <class R, class Real>
void estimate_block(const UpdateArguments& update, std::int64_t begin, std::int64_t count,
                    Real* to) {
  if constexpr (kIsFactored<R>) {
    const TensorStep& tensor = *update.tensor;
    const Layout& layout = tensor.layout;
    if (!layout.factored()) {
      for (std::int64_t i = 0; i < count; ++i) {
        to[i] = 0;
      }
      return;
    }
    const auto* means = static_cast<const Real*>(update.mean_of_rows);
    std::int64_t i = 0;
    while (i < count) {
      const std::int64_t row = (begin + i) / layout.columns;
      const std::int64_t column = (begin + i) % layout.columns;
      const std::int64_t run = least(count - i, layout.columns - column);
      const std::int64_t matrix = row / layout.matrix_rows;
      const Real row_value = row_slot<R, Real>(tensor)[row];
      const Real* columns = column_slot<R, Real>(tensor) + matrix * layout.columns + column;
      for (std::int64_t k = 0; k < run; ++k) {
        to[i + k] = R::factor_estimate(row_value, columns[k], means[matrix]);
      }
      i += run;
    }
  }
}

// The second input of elements [begin, begin + count), in memory or in `buffer`. For rules without
// one, nothing reads the result.
template <class R, class Real>
const Real* second_input_block(const UpdateArguments& update, std::int64_t begin,
                               std::int64_t count, Real* buffer) {
  if constexpr (kIsFactored<R>) {
    estimate_block<R>(update, begin, count, buffer);
  } else if constexpr (kTakesCurvature<R>) {
    const TensorStep& tensor = *update.tensor;
    if (tensor.curvature == nullptr) {
      standardize_block(update, begin, count, buffer);
      return buffer;
    }
    const auto factor = static_cast<Real>(update.curvature_factor);
    with_type<Real>(tensor.curvature, tensor.gradient_dtype, begin,
                    [&](auto* from) { standardize_run(from, Real(0), factor, buffer, count); });
  } else if constexpr (kIsOrthogonal<R>) {
    if (update.orthogonal != nullptr) {
      return static_cast<const Real*>(update.orthogonal) + begin;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      buffer[i] = 0;
    }
  }
  return buffer;
}

}  // namespace
}  // namespace sing::cpu::SING_ISA
