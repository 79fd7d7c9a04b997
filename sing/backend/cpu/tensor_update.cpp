// Runs the passes after measure over one tensor and combines what their chunks leave.
#include "sing/backend/cpu/tensor_update.hpp"

#include <memory>
#include <new>

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

StepScalars scalars_of(const TensorJob& job) {
  const Layout& layout = job.step.layout;
  return {.step = job.step.progress->steps,
          .learning_rate = job.group.learning_rate(),
          .weight_decay = job.group.weight_decay(layout.rank),
          .factored = layout.factored(),
          .rows = job.plan.is_orthogonal ? layout.leading : 0,
          .columns = job.plan.is_orthogonal ? layout.size / layout.leading : 0};
}

}  // namespace

const ConstantsStorage& ConstantsCache::get(const Rule& rule, Dtype parameter,
                                            const StepScalars& scalars) {
  if (rule_ != &rule || scalars_ != scalars || state_dtype_ != state_dtype(parameter)) {
    visit_rule(rule, parameter, [&]<class R, class Real>(const R& each) {
      using Constants = typename R::template Constants<Real>;
      static_assert(sizeof(Constants) <= sizeof(ConstantsStorage));
      ::new (static_cast<void*>(storage_.bytes)) Constants(each.template constants<Real>(scalars));
    });
    rule_ = &rule;
    scalars_ = scalars;
    state_dtype_ = state_dtype(parameter);
  }
  return storage_;
}

TensorUpdate::TensorUpdate(const TensorJob& job, const GradientScale& scale, ConstantsCache& cache)
    : job_(job) {
  const std::optional<Lookahead>& lookahead = job.group.lookahead;
  const bool merges = lookahead && (job.group.progress->steps + 1) % lookahead->period == 0;
  const bool is_first = job.step.progress->steps == 0;
  ++job.step.progress->steps;
  constants_ = cache.get(job.group.rule, job.step.dtype, scalars_of(job));
  arguments_ = {.tensor = &job.step,
                .row_means = job.plan.row_means,
                .gradient_factor = scale.factor,
                .constants = constants_.bytes,
                .mean_of_rows = job.plan.mean_of_rows,
                .orthogonal = nullptr,
                .curvature_factor = 1 / job.loss_scale,
                .measures = job.plan.measured_by_update,
                .is_first = is_first,
                .merges = merges,
                .merge_alpha = merges ? lookahead->alpha : 0};
}

template <class Visit>
void TensorUpdate::visit(Visit visit) {
  visit_rule(job_.group.rule, job_.step.dtype, visit);
}

void TensorUpdate::run_chunk(Pass pass, std::int64_t chunk) {
  switch (pass) {
    case Pass::kMeasure:
      break;
    case Pass::kFactor:
      factor_chunk(chunk);
      break;
    case Pass::kSum:
      sum_chunk(chunk);
      break;
    case Pass::kApply:
      apply_chunk(chunk);
      break;
  }
}

void TensorUpdate::finish(Pass pass) {
  if (pass == Pass::kFactor) {
    finish_factor();
  } else if (pass == Pass::kSum) {
    finish_sum();
    advance_scalars();
  }
}

void TensorUpdate::factor_chunk(std::int64_t chunk) {
  const TensorPlan& plan = job_.plan;
  const Layout& layout = job_.step.layout;
  const Chunks& chunks = plan.chunks(Pass::kFactor);
  const RuleKernels& kernels = job_.rule_kernels();
  std::byte* column_sums = plan.column_sums + chunk * layout.columns * plan.real_bytes;
  if (plan.matrix_parts > 0) {
    const std::int64_t matrix_begin = chunk / plan.matrix_parts * layout.matrix_rows;
    const IndexRange part = chunks.range(chunk % plan.matrix_parts, layout.matrix_rows);
    kernels.factor_rows(arguments_, {matrix_begin + part.begin, matrix_begin + part.end},
                        column_sums);
    return;
  }
  const IndexRange matrices = chunks.range(chunk, layout.matrices);
  for (std::int64_t matrix = matrices.begin; matrix < matrices.end; ++matrix) {
    const std::int64_t begin = matrix * layout.matrix_rows;
    kernels.factor_rows(arguments_, {begin, begin + layout.matrix_rows}, column_sums);
    kernels.factor_columns(arguments_, matrix, column_sums, 1);
  }
}

void TensorUpdate::finish_factor() {
  const TensorPlan& plan = job_.plan;
  const Layout& layout = job_.step.layout;
  for (std::int64_t matrix = 0; plan.matrix_parts > 0 && matrix < layout.matrices; ++matrix) {
    std::byte* sums =
        plan.column_sums + matrix * plan.matrix_parts * layout.columns * plan.real_bytes;
    job_.rule_kernels().factor_columns(arguments_, matrix, sums,
                                       static_cast<int>(plan.matrix_parts));
  }
}

void TensorUpdate::sum_chunk(std::int64_t chunk) {
  visit([&]<class R, class Real>(const R&) {
    if constexpr (kHasSums<R>) {
      double* totals = job_.plan.totals + chunk * static_cast<std::int64_t>(kSumCount<R>);
      for (std::size_t k = 0; k < kSumCount<R>; ++k) {
        totals[k] = 0;
      }
      const Chunks& chunks = job_.plan.chunks(Pass::kSum);
      job_.rule_kernels().sum(arguments_, chunks.range(chunk, job_.step.layout.size), totals);
    }
  });
}

void TensorUpdate::finish_sum() {
  visit([&]<class R, class Real>(const R&) {
    if constexpr (kHasSums<R>) {
      double totals[kSumCount<R>] = {};
      for (std::int64_t chunk = 0; chunk < job_.plan.chunks(Pass::kSum).count; ++chunk) {
        for (std::size_t k = 0; k < kSumCount<R>; ++k) {
          totals[k] += job_.plan.totals[chunk * static_cast<std::int64_t>(kSumCount<R>) +
                                        static_cast<std::int64_t>(k)];
        }
      }
      R::finish(*reinterpret_cast<typename R::template Constants<Real>*>(constants_.bytes), totals,
                job_.step.layout.size);
    }
  });
}

void TensorUpdate::advance_scalars() {
  visit([&]<class R, class Real>(const R&) {
    if constexpr (kHasScalars<R>) {
      const auto slot = [&](std::size_t k) -> Real& {
        return *static_cast<Real*>(job_.step.slots[kFirstScalarSlot<R> + k]);
      };
      ScalarState<R> scalars{};
      for (std::size_t k = 0; k < kScalarSlotCount<R>; ++k) {
        scalars.slot[k] = static_cast<double>(slot(k));
      }
      R::advance(*reinterpret_cast<typename R::template Constants<Real>*>(constants_.bytes),
                 scalars);
      for (std::size_t k = 0; k < kScalarSlotCount<R>; ++k) {
        slot(k) = static_cast<Real>(scalars.slot[k]);
      }
    }
  });
}

void TensorUpdate::orthogonalize(const Multiply& multiply, std::span<std::byte> workspace) {
  void* aligned = workspace.data();
  std::size_t room = workspace.size();
  std::align(kWorkspaceAlignment, 1, aligned, room);
  const Layout& layout = job_.step.layout;
  visit([&]<class R, class Real>(const R& rule) {
    if constexpr (kIsOrthogonal<R>) {
      auto* matrix = static_cast<Real*>(aligned);
      job_.rule_kernels().matrix_input(arguments_, matrix);
      const auto product = [&](const MatrixProduct& each) {
        multiply ? multiply(each) : job_.kernels.multiply(each);
      };
      arguments_.orthogonal = newton_schulz(
          rule.newton_schulz(), {.rows = layout.leading, .columns = layout.size / layout.leading},
          matrix, matrix + layout.size, MatrixWork{product, shift_square<Real>});
    }
  });
}

void TensorUpdate::apply_chunk(std::int64_t chunk) {
  const IndexRange elements = job_.plan.chunks(Pass::kApply).range(chunk, job_.step.layout.size);
  const double squares = job_.rule_kernels().apply(arguments_, elements);
  if (arguments_.measures) {
    job_.plan.partials[chunk].sums = {squares, squares};
  }
}

}  // namespace sing::cpu
