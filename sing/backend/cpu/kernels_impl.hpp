// The CPU's loops, compiled once for each instruction set: the including file defines SING_ISA (a
// namespace) and SING_VECTOR_BYTES. Everything is in an unnamed namespace, because a copy that the
// linker merged across instruction sets would crash older machines.
#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "sing/backend/cpu/kernels.hpp"

namespace sing::cpu::SING_ISA {
namespace {

#include "sing/backend/cpu/lanes.hpp"

inline constexpr std::int64_t kMeasureBlock = 4096;  // elements; 16 KB of float
inline constexpr std::int64_t kApplyBlock = 1024;
inline constexpr std::int64_t kUpdateStep = 128;  // elements that share a kind of softplus
inline constexpr std::int64_t kLongRow = 128;     // elements; what a loop of its own is worth

SING_HOST_DEVICE std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

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

// Calls visit(pointer to element `index` of the right type).
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

template <class Real>
constexpr Dtype kDtypeOf = std::is_same_v<Real, double> ? Dtype::kFloat64 : Dtype::kFloat32;

// Elements [begin, begin + count) as Real: in place if they are, else converted into `buffer`.
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

template <class Real>
void convert(void* to, Dtype to_dtype, const void* from, Dtype from_dtype, std::int64_t count) {
  Real buffer[kApplyBlock];
  for (std::int64_t i = 0; i < count; i += kApplyBlock) {
    const std::int64_t n = least(kApplyBlock, count - i);
    store_as(to, to_dtype, i, n, as_real(from, from_dtype, i, n, buffer));
  }
}

template <class Real>
void blend(void* to, Dtype to_dtype, const Blend& given, std::int64_t count) {
  Real buffer[kApplyBlock];
  Real blended[kApplyBlock];
  const auto share = static_cast<Real>(given.share);
  for (std::int64_t i = 0; i < count; i += kApplyBlock) {
    const std::int64_t n = least(kApplyBlock, count - i);
    const Real* from = as_real(given.from, given.from_dtype, i, n, buffer);
    const Real* towards = static_cast<const Real*>(given.towards) + i;
    for (std::int64_t k = 0; k < n; ++k) {
      blended[k] = from[k] + share * (towards[k] - from[k]);
    }
    store_as(to, to_dtype, i, n, static_cast<const Real*>(blended));
  }
}

// Each part uses the ones before it.
// clang-format off
#include "sing/backend/cpu/measure_impl.hpp"
#include "sing/backend/cpu/block_impl.hpp"
#include "sing/backend/cpu/factor_impl.hpp"
#include "sing/backend/cpu/second_input_impl.hpp"
#include "sing/backend/cpu/sum_impl.hpp"
#include "sing/backend/cpu/apply_impl.hpp"
#include "sing/backend/cpu/multiply_impl.hpp"
// clang-format on

template <class Real, std::size_t... I>
constexpr RealKernels make_kernels(std::index_sequence<I...>) {
  return {.measure_rows = measure_rows<Real>,
          .measure_piece = measure_piece<Real>,
          .measure_squares = measure_squares<Real>,
          .rules = {make_rule_kernels<std::variant_alternative_t<I, Rule>, Real>()...},
          .convert = convert<Real>,
          .blend = blend<Real>,
          .multiply = multiply<Real>};
}

}  // namespace

extern const Kernels kKernels;
// NOLINTNEXTLINE(misc-definitions-in-headers): one source file an instruction set includes this
constexpr Kernels kKernels = {
    .of_float = make_kernels<float>(std::make_index_sequence<kRuleCount>{}),
    .of_double = make_kernels<double>(std::make_index_sequence<kRuleCount>{})};

}  // namespace sing::cpu::SING_ISA
