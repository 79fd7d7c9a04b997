// Reads and writes arrays of any element type as arrays of the type that arithmetic is done in.
#pragma once

#include <type_traits>

#include "sing/backend/backend.hpp"
#include "sing/backend/cpu/kernel/instruction_set.hpp"

namespace sing::cpu::SING_ISA {
namespace {

// Elements per block. A block is the part of a tensor that a pass after measure works on at a time,
// short enough that the results of one stage are still in the first-level cache for the next.
inline constexpr std::int64_t kBlock = 1024;

template <class Real>
SING_HOST_DEVICE Real read(Real value) {
  return value;
}
template <class Real>
SING_HOST_DEVICE float read(BFloat16 value) {
  return to_float(value);
}
template <class Real>
SING_HOST_DEVICE float read(Float16 value) {
  return to_float(value);
}

// Calls visit(pointer to element `index`), with the element type that `dtype` names.
template <class Real, class Data, class Visit>
SING_HOST_DEVICE void with_type(Data* data, Dtype dtype, std::int64_t index, Visit visit) {
  using Bytes = std::conditional_t<std::is_const_v<Data>, const char, char>;
  Bytes* bytes = static_cast<Bytes*>(data) + index * static_cast<std::int64_t>(size_of(dtype));
  const auto as = [&]<class T>(T*) {
    using Qualified = std::conditional_t<std::is_const_v<Data>, const T, T>;
    visit(reinterpret_cast<Qualified*>(bytes));
  };
  if (dtype == Dtype::kBFloat16) {
    as(static_cast<BFloat16*>(nullptr));
  } else if (dtype == Dtype::kFloat16) {
    as(static_cast<Float16*>(nullptr));
  } else {
    as(static_cast<Real*>(nullptr));
  }
}

template <class Real, class From>
void widen(const From* __restrict from, Real* __restrict to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = read<Real>(from[i]);
  }
}

template <class Real, class To>
void narrow(const Real* __restrict from, To* __restrict to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<To, BFloat16>) {
      to[i] = to_bfloat16(static_cast<float>(from[i]));
    } else if constexpr (std::is_same_v<To, Float16>) {
      to[i] = to_float16(static_cast<float>(from[i]));
    } else {
      to[i] = from[i];
    }
  }
}

inline void round_randomly(const float* __restrict from, BFloat16* __restrict to,
                           std::int64_t count, StochasticRounding rounding, std::uint32_t first) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = rounding(from[i], first + static_cast<std::uint32_t>(i));
  }
}

template <class Real>
constexpr Dtype kDtypeOf = std::is_same_v<Real, double> ? Dtype::kFloat64 : Dtype::kFloat32;

// Elements [begin, begin + count) as Real: where they are if they have that type, else converted
// into `buffer`.
template <class Real>
const Real* as_real(const void* data, Dtype dtype, std::int64_t begin, std::int64_t count,
                    Real* buffer) {
  if (dtype == kDtypeOf<Real>) {
    return static_cast<const Real*>(data) + begin;
  }
  with_type<Real>(data, dtype, begin, [&](auto* from) { widen(from, buffer, count); });
  return buffer;
}

template <class Real>
void store_as(void* data, Dtype dtype, std::int64_t begin, std::int64_t count, const Real* values) {
  with_type<Real>(data, dtype, begin, [&](auto* to) { narrow(values, to, count); });
}

// Copies `count` elements and converts them.
template <class Real>
void convert(void* to, Dtype to_dtype, const void* from, Dtype from_dtype, std::int64_t count) {
  Real buffer[kBlock];
  for (std::int64_t i = 0; i < count; i += kBlock) {
    const std::int64_t n = least(kBlock, count - i);
    store_as(to, to_dtype, i, n, as_real(from, from_dtype, i, n, buffer));
  }
}

// to ← from + share · (towards − from).
template <class Real>
void blend(void* to, Dtype to_dtype, const Blend& line, std::int64_t count) {
  Real buffer[kBlock];
  Real blended[kBlock];
  const auto share = static_cast<Real>(line.share);
  for (std::int64_t i = 0; i < count; i += kBlock) {
    const std::int64_t n = least(kBlock, count - i);
    const Real* from = as_real(line.from, line.from_dtype, i, n, buffer);
    const Real* towards = static_cast<const Real*>(line.towards) + i;
    for (std::int64_t k = 0; k < n; ++k) {
      blended[k] = from[k] + share * (towards[k] - from[k]);
    }
    store_as(to, to_dtype, i, n, static_cast<const Real*>(blended));
  }
}

}  // namespace
}  // namespace sing::cpu::SING_ISA
