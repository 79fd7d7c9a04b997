// The passes of rules with statistics of their own: what each chunk leaves, and how chunks combine.
#include "sing/backend/cpu/step_run.hpp"
#include "sing/backend/cpu/visit_rule.hpp"
#include "sing/backend/newton_schulz.hpp"

namespace sing::cpu {
namespace {

// to ← factor · from + shift · I, for one square.
template <class Real>
void shift_square(Real* to, const Real* from, std::int64_t side, std::int64_t /*count*/,
                  Real factor, Real shift) {
  for (std::int64_t i = 0; i < side * side; ++i) {
    to[i] = factor * from[i];
  }
  for (std::int64_t i = 0; i < side; ++i) {
    to[i * (side + 1)] += shift;
  }
}

}  // namespace

void StepRun::factor_chunk(const TensorPass& pass, std::size_t tensor, std::int64_t chunk) {
  const TensorPlan& plan = plan_.tensors[tensor];
  const Layout& layout = pass.tensor->layout;
  const RealKernels::OfRule& kernels = rule_kernels_of(tensor);
  const auto real = static_cast<std::int64_t>(size_of(real_of(pass.tensor->dtype)));
  std::byte* column_sums = plan.column_sums + chunk * layout.columns * real;
  if (plan.matrix_parts > 0) {
    const std::int64_t matrix_begin = chunk / plan.matrix_parts * layout.matrix_rows;
    const Range part = plan.factor.range(chunk % plan.matrix_parts, layout.matrix_rows);
    kernels.factor_rows(pass, {matrix_begin + part.begin, matrix_begin + part.end}, column_sums);
    return;
  }
  const Range matrices = plan.factor.range(chunk, layout.matrices);
  for (std::int64_t matrix = matrices.begin; matrix < matrices.end; ++matrix) {
    const std::int64_t begin = matrix * layout.matrix_rows;
    kernels.factor_rows(pass, {begin, begin + layout.matrix_rows}, column_sums);
    kernels.factor_columns(pass, matrix, column_sums, 1);
  }
}

void StepRun::finish_factor(const TensorPass& pass, std::size_t tensor) {
  const TensorPlan& plan = plan_.tensors[tensor];
  const Layout& layout = pass.tensor->layout;
  if (plan.matrix_parts == 0) {
    return;
  }
  const auto real = static_cast<std::int64_t>(size_of(real_of(pass.tensor->dtype)));
  for (std::int64_t matrix = 0; matrix < layout.matrices; ++matrix) {
    std::byte* sums = plan.column_sums + matrix * plan.matrix_parts * layout.columns * real;
    rule_kernels_of(tensor).factor_columns(pass, matrix, sums, static_cast<int>(plan.matrix_parts));
  }
}

void StepRun::sum_chunk(const TensorPass& pass, std::size_t tensor, std::int64_t chunk) {
  const TensorPlan& plan = plan_.tensors[tensor];
  visit_rule(group_of(tensor).rule, pass.tensor->dtype, [&]<class R, class Real>(const R&) {
    if constexpr (kHasSums<R>) {
      double* totals = plan.totals + chunk * static_cast<std::int64_t>(kSumCount<R>);
      for (std::size_t k = 0; k < kSumCount<R>; ++k) {
        totals[k] = 0;
      }
      rule_kernels_of(tensor).sum(pass, plan.sum.range(chunk, pass.tensor->layout.size), totals);
    }
  });
}

void StepRun::finish_sum(const TensorPass& pass, std::size_t tensor, void* constants) {
  const TensorPlan& plan = plan_.tensors[tensor];
  visit_rule(group_of(tensor).rule, pass.tensor->dtype, [&]<class R, class Real>(const R&) {
    if constexpr (kHasSums<R>) {
      double totals[kSumCount<R>] = {};
      for (std::int64_t chunk = 0; chunk < plan.sum.count; ++chunk) {
        for (std::size_t k = 0; k < kSumCount<R>; ++k) {
          totals[k] += plan.totals[chunk * static_cast<std::int64_t>(kSumCount<R>) +
                                   static_cast<std::int64_t>(k)];
        }
      }
      R::finish(*static_cast<typename R::template Constants<Real>*>(constants), totals,
                pass.tensor->layout.size);
    }
  });
  advance(pass, tensor, constants);
}

void StepRun::orthogonalize(TensorPass& pass, std::size_t tensor, int worker) {
  std::vector<std::byte>& workspace = workspaces_[static_cast<std::size_t>(worker)];
  void* aligned = workspace.data();
  std::size_t room = workspace.size();
  std::align(kWorkspaceAlignment, 1, aligned, room);
  const Layout& layout = pass.tensor->layout;
  visit_rule(group_of(tensor).rule, pass.tensor->dtype, [&]<class R, class Real>(const R& rule) {
    if constexpr (kIsOrthogonal<R>) {
      auto* matrix = static_cast<Real*>(aligned);
      rule_kernels_of(tensor).matrix_input(pass, matrix);
      const auto multiply = [&](const MatrixProduct& product) {
        multiply_ ? multiply_(product) : kernels_of(tensor).multiply(product);
      };
      pass.orthogonal = newton_schulz(
          rule.newton_schulz(), {.rows = layout.leading, .columns = layout.size / layout.leading},
          matrix, matrix + layout.size, MatrixWork{multiply, shift_square<Real>});
    }
  });
}

void StepRun::advance(const TensorPass& pass, std::size_t tensor, void* constants) {
  visit_rule(group_of(tensor).rule, pass.tensor->dtype, [&]<class R, class Real>(const R&) {
    if constexpr (kHasScalars<R>) {
      const auto slot = [&](std::size_t k) -> Real& {
        return *static_cast<Real*>(pass.tensor->slots[kFirstScalarSlot<R> + k]);
      };
      ScalarState<R> scalars{};
      for (std::size_t k = 0; k < kScalarSlotCount<R>; ++k) {
        scalars.slot[k] = static_cast<double>(slot(k));
      }
      R::advance(*static_cast<typename R::template Constants<Real>*>(constants), scalars);
      for (std::size_t k = 0; k < kScalarSlotCount<R>; ++k) {
        slot(k) = static_cast<Real>(scalars.slot[k]);
      }
    }
  });
}

}  // namespace sing::cpu
