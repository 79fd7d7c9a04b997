// The table of all loops for one instruction set, which a source file compiles by including this.
#pragma once

#include <utility>
#include <variant>

#include "sing/backend/cpu/kernel/apply.hpp"
#include "sing/backend/cpu/kernel/factor.hpp"
#include "sing/backend/cpu/kernel/measure.hpp"
#include "sing/backend/cpu/kernel/multiply.hpp"
#include "sing/backend/cpu/kernel/sum.hpp"

namespace sing::cpu::SING_ISA {
namespace {

template <class R, class Real>
constexpr RuleKernels make_rule_kernels() {
  RuleKernels kernels{};
  kernels.apply = apply<R, Real>;
  if constexpr (kIsFactored<R>) {
    kernels.factor_rows = factor_rows<R, Real>;
    kernels.factor_sums = factor_sums<R, Real>;
    kernels.factor_columns = factor_columns<R, Real>;
  }
  if constexpr (kHasSums<R>) {
    kernels.sum = sum<R, Real>;
  }
  if constexpr (kIsOrthogonal<R>) {
    kernels.matrix_input = matrix_input<R, Real>;
  }
  return kernels;
}

template <class Real, std::size_t... I>
constexpr RealKernels make_kernels(std::index_sequence<I...>) {
  return {.measure_rows = measure_rows<Real>,
          .measure_piece = measure_piece<Real>,
          .measure_squares = measure_squares<Real>,
          .rules = {make_rule_kernels<std::variant_alternative_t<I, Rule>, Real>()...},
          .convert = convert<Real>,
          .blend = blend<Real>,
          .round_randomly = round_randomly,
          .multiply = multiply<Real>};
}

}  // namespace

extern const Kernels kKernels;
// NOLINTNEXTLINE(misc-definitions-in-headers): one source file per instruction set includes this
constexpr Kernels kKernels = {
    .of_float = make_kernels<float>(std::make_index_sequence<kRuleCount>{}),
    .of_double = make_kernels<double>(std::make_index_sequence<kRuleCount>{})};

}  // namespace sing::cpu::SING_ISA
