// Sums in a fixed order, which does not depend on the vector width: 32 interleaved lanes, then a
// tree.
#pragma once

#include "sing/backend/cpu/kernel/instruction_set.hpp"
#include "sing/backend/cpu/sample_moments.hpp"

namespace sing::cpu::SING_ISA {
namespace {

inline constexpr int kLanes = 32;

template <class Real>
struct Register {
  using type __attribute__((vector_size(SING_VECTOR_BYTES))) = Real;
};

// 32 running sums: lane k sums the values at positions k, k + 32, k + 64, …
template <class Real>
class Lanes {
 public:
  static constexpr int kWidth = SING_VECTOR_BYTES / static_cast<int>(sizeof(Real));
  static constexpr int kRegisters = kLanes / kWidth;
  using Vector = typename Register<Real>::type;

  SING_HOST_DEVICE void add(int part, Vector values) { registers_[part] += values; }

  SING_HOST_DEVICE Real total() const {
    Vector folded[kRegisters];
    __builtin_memcpy(folded, registers_, sizeof(folded));
#pragma GCC unroll 8
    for (int half = kRegisters / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
      for (int k = 0; k < half; ++k) {
        folded[k] += folded[k + half];
      }
    }
    return halve<kWidth>(folded[0]);
  }

 private:
  // Adds the second half of a vector to the first until one element is left.
  template <int kCount, class Values>
  SING_HOST_DEVICE static Real halve(Values values) {
    if constexpr (kCount == 2) {
      return values[0] + values[1];
    } else {
      using Half __attribute__((vector_size(kCount / 2 * sizeof(Real)))) = Real;
      Half halves[2];
      __builtin_memcpy(halves, &values, sizeof(halves));
      return halve<kCount / 2>(halves[0] + halves[1]);
    }
  }

  Vector registers_[kRegisters] = {};
};

// Calls take(stream, part, vector) for all of x[stream][0 … count), in groups of 32 elements; the
// streams alternate after each group, and the last group of each stream is padded.
template <std::size_t kStreams, class Real, class Take>
SING_HOST_DEVICE void for_each_vector_of(const Real* const (&x)[kStreams], std::int64_t count,
                                         Real padding, Take take) {
  using Vector = typename Lanes<Real>::Vector;
  const auto take_group = [&](std::size_t stream,
                              const Real* group) __attribute__((always_inline)) {
#pragma GCC unroll 32
    for (int part = 0; part < Lanes<Real>::kRegisters; ++part) {
      Vector values;
      __builtin_memcpy(&values, group + part * Lanes<Real>::kWidth, sizeof(values));
      take(stream, part, values);
    }
  };
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
#pragma GCC unroll 4
    for (std::size_t stream = 0; stream < kStreams; ++stream) {
      take_group(stream, x[stream] + i);
    }
  }
  if (i < count) {
#pragma GCC unroll 4
    for (std::size_t stream = 0; stream < kStreams; ++stream) {
      Real padded[kLanes];
      for (int k = 0; k < kLanes; ++k) {
        padded[k] = i + k < count ? x[stream][i + k] : padding;
      }
      take_group(stream, padded);
    }
  }
}

// Calls take(part, vector) for all of x[0 … count), padded to a multiple of 32.
template <class Real, class Take>
SING_HOST_DEVICE void for_each_vector(const Real* x, std::int64_t count, Real padding, Take take) {
  const Real* const stream[] = {x};
  for_each_vector_of(stream, count, padding,
                     [&](std::size_t, int part, auto values)
                         __attribute__((always_inline)) { take(part, values); });
}

template <class Real>
Real sum_of(const Real* x, std::int64_t count) {
  Lanes<Real> sums;
  for_each_vector(x, count, Real(0), [&](int part, auto values) __attribute__((always_inline)) {
    sums.add(part, values);
  });
  return sums.total();
}

template <class Real>
SING_HOST_DEVICE void add_squares(const Real* x, std::int64_t count, Lanes<Real>& sums) {
  for_each_vector(x, count, Real(0), [&](int part, auto values) __attribute__((always_inline)) {
    sums.add(part, values * values);
  });
}

template <class Real>
Real squares_of(const Real* x, std::int64_t count) {
  Lanes<Real> sums;
  add_squares(x, count, sums);
  return sums.total();
}

// The moments of values whose mean is about `first_mean`.
template <class Real>
SampleMoments moments_about(const Real* x, std::int64_t count, Real first_mean) {
  const auto n = static_cast<double>(count);
  Lanes<Real> deviations;
  Lanes<Real> squared;
  for_each_vector(x, count, first_mean, [&](int part, auto values) __attribute__((always_inline)) {
    const auto deviation = values - first_mean;
    deviations.add(part, deviation);
    squared.add(part, deviation * deviation);
  });
  const double shift = static_cast<double>(deviations.total()) / n;
  const double centred = static_cast<double>(squared.total()) - n * shift * shift;
  // Not std::max: NaN must stay NaN.
  return {count, static_cast<double>(first_mean) + shift, centred < 0 ? 0.0 : centred};
}

// Returns whether the squares about the mean may be computed as Σx² − n·mean². A difference of at
// least a quarter of Σx² costs two bits; a smaller one would cost digits.
SING_HOST_DEVICE bool may_subtract(double squares_of_means, double squares) {
  return !(squares_of_means > 0.75 * squares);  // true for NaN and infinity
}

// Sums values and squares in one pass. If the mean's share is too large to subtract, a second pass
// over values that are still in cache sums the squares about the mean, and the deviations, which
// correct the rounding of the first mean.
template <class Real>
SampleMoments moments_of(const Real* x, std::int64_t count) {
  const auto n = static_cast<double>(count);
  Lanes<Real> sums;
  Lanes<Real> squared;
  for_each_vector(x, count, Real(0), [&](int part, auto values) __attribute__((always_inline)) {
    sums.add(part, values);
    squared.add(part, values * values);
  });
  const double mean = static_cast<double>(sums.total()) / n;
  const auto squares = static_cast<double>(squared.total());
  if (may_subtract(n * mean * mean, squares)) {
    return {count, mean, squares - n * mean * mean};
  }
  return moments_about(x, count, static_cast<Real>(mean));
}

}  // namespace
}  // namespace sing::cpu::SING_ISA
