// Runs the passes after measure over one tensor and combines what their chunks leave.
#include "sing/backend/cpu/tensor_update.hpp"

#include <algorithm>
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
  const Matrices matrix = matrix_of(job.step.whole());
  return {.step = job.step.progress->steps,
          .learning_rate = job.group.learning_rate(),
          .weight_decay = job.group.weight_decay(layout.rank),
          .factored = layout.factored(),
          .rows = job.plan.is_orthogonal ? matrix.rows : 0,
          .columns = job.plan.is_orthogonal ? matrix.columns : 0};
}

// Adds up the column sums of one matrix, `parts` consecutive arrays.
void widen_columns(const TensorJob& job, const std::byte* column_sums, std::int64_t parts,
                   double* totals) {
  const std::int64_t columns = job.step.layout.columns;
  std::fill_n(totals, columns, 0.0);
  const auto add = [&]<class Real>(const Real* sums) {
    for (std::int64_t i = 0; i < parts * columns; ++i) {
      totals[i % columns] += static_cast<double>(sums[i]);
    }
  };
  if (state_dtype(job.step.dtype) == Dtype::kFloat64) {
    add(reinterpret_cast<const double*>(column_sums));
  } else {
    add(reinterpret_cast<const float*>(column_sums));
  }
}

// The number of elements that are converted to float32 at a time. The copies stay in the L1 cache.
constexpr std::int64_t kWidenedElements = 1024;

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

// The loops of the rules read and write slots of the state type only. If slots are bfloat16, a loop
// runs on float32 copies of one block after the other. The pointer to a copy is shifted, and the
// loop finds each element of the block at its index in the tensor.
template <class Loop>
void TensorUpdate::run_loop(IndexRange elements, SlotAccess access, Loop loop) const {
  const TensorStep& tensor = job_.step;
  std::array<bool, kMaxSlots> rounded{};
  visit([&]<class R, class Real>(const R&) {
    for (std::size_t k = 0; k < kElementSlotCount<R>; ++k) {
      rounded[k] = tensor.slots[k] != nullptr && is_rounded(R::kSlots[k], tensor.state);
    }
  });
  if (std::ranges::find(rounded, true) == rounded.end()) {
    loop(arguments_, elements);
    return;
  }
  alignas(64) float copies[kMaxSlots][kWidenedElements];
  TensorStep widened = tensor;
  UpdateArguments arguments = arguments_;
  arguments.tensor = &widened;
  for (std::int64_t begin = elements.begin; begin < elements.end; begin += kWidenedElements) {
    const IndexRange block{begin, std::min(begin + kWidenedElements, elements.end)};
    const std::int64_t count = block.end - begin;
    for (std::size_t k = 0; k < kMaxSlots; ++k) {
      if (rounded[k]) {
        job_.kernels.convert(copies[k], Dtype::kFloat32,
                             static_cast<const BFloat16*>(tensor.slots[k]) + begin,
                             Dtype::kBFloat16, count);
        const std::uintptr_t first_element = reinterpret_cast<std::uintptr_t>(copies[k]) -
                                             static_cast<std::uintptr_t>(begin) * sizeof(float);
        // NOLINTNEXTLINE(performance-no-int-to-ptr): a pointer may not leave its array
        widened.slots[k] = reinterpret_cast<void*>(first_element);
      }
    }
    loop(arguments, block);
    for (std::size_t k = 0; access == SlotAccess::kChanges && k < kMaxSlots; ++k) {
      if (rounded[k]) {
        job_.kernels.round_randomly(copies[k], static_cast<BFloat16*>(tensor.slots[k]) + begin,
                                    count, tensor.rounding(k), tensor.rounded_element(begin));
      }
    }
  }
}

template <class Visit>
void TensorUpdate::visit(Visit visit) const {
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
    finish_sums(collect_sums());
  }
}

void TensorUpdate::factor_chunk(std::int64_t chunk) {
  const TensorPlan& plan = job_.plan;
  const Layout& layout = job_.step.layout;
  const Chunks& chunks = plan.chunks(Pass::kFactor);
  const RuleKernels& kernels = job_.rule_kernels();
  std::byte* column_sums = plan.column_sums + chunk * layout.columns * plan.real_bytes;
  const auto factor_rows = [&](IndexRange rows) {
    if (plan.is_shard) {
      kernels.factor_sums(arguments_, rows, plan.matrix_row_sums, column_sums);
    } else {
      kernels.factor_rows(arguments_, rows, column_sums);
    }
  };
  if (plan.matrix_parts > 0) {
    const std::int64_t matrix_begin = chunk / plan.matrix_parts * layout.matrix_rows;
    const IndexRange part = chunks.range(chunk % plan.matrix_parts, layout.matrix_rows);
    factor_rows({matrix_begin + part.begin, matrix_begin + part.end});
    return;
  }
  const IndexRange matrices = chunks.range(chunk, layout.matrices);
  for (std::int64_t matrix = matrices.begin; matrix < matrices.end; ++matrix) {
    const std::int64_t begin = matrix * layout.matrix_rows;
    factor_rows({begin, begin + layout.matrix_rows});
    if (plan.is_shard) {
      widen_columns(job_, column_sums, 1, plan.matrix_column_sums + matrix * layout.columns);
    } else {
      kernels.factor_columns(arguments_, matrix, column_sums, 1);
    }
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

void TensorUpdate::collect_factors() {
  const TensorPlan& plan = job_.plan;
  const Layout& layout = job_.step.layout;
  if (plan.chunks(Pass::kFactor).count == 0) {  // an empty part
    std::fill_n(plan.matrix_row_sums, layout.matrix_row_count(), 0.0);
    std::fill_n(plan.matrix_column_sums, layout.matrix_column_count(), 0.0);
  }
  for (std::int64_t matrix = 0; plan.matrix_parts > 0 && matrix < layout.matrices; ++matrix) {
    widen_columns(job_,
                  plan.column_sums + matrix * plan.matrix_parts * layout.columns * plan.real_bytes,
                  plan.matrix_parts, plan.matrix_column_sums + matrix * layout.columns);
  }
}

// Slots of a factored rule follow its element slots: those of the rows, then those of the columns.
void TensorUpdate::blend_rows() {
  blend(0, job_.plan.matrix_row_sums, job_.step.layout.matrix_row_count(),
        job_.step.shard->whole.columns);
}

void TensorUpdate::blend_columns() {
  blend(1, job_.plan.matrix_column_sums, job_.step.layout.matrix_column_count(),
        job_.step.shard->whole.matrix_rows);
}

void TensorUpdate::blend(std::size_t slot, const double* sums, std::int64_t count,
                         std::int64_t addends) {
  visit([&]<class R, class Real>(const R&) {
    if constexpr (kIsFactored<R>) {
      const auto& constants =
          *reinterpret_cast<const typename R::template Constants<Real>*>(constants_.bytes);
      Real* values = static_cast<Real*>(job_.step.slots[kElementSlotCount<R> + slot]);
      for (std::int64_t i = 0; i < count; ++i) {
        values[i] = R::factor_blend(constants, values[i],
                                    static_cast<Real>(sums[i] / static_cast<double>(addends)));
      }
    }
  });
}

double TensorUpdate::sum_of_row_slots(std::int64_t matrix) const {
  double sum = 0;
  visit([&]<class R, class Real>(const R&) {
    if constexpr (kIsFactored<R>) {
      const std::int64_t rows = job_.step.layout.matrix_rows;
      const Real* values =
          static_cast<const Real*>(job_.step.slots[kElementSlotCount<R>]) + matrix * rows;
      for (std::int64_t row = 0; row < rows; ++row) {
        sum += static_cast<double>(values[row]);
      }
    }
  });
  return sum;
}

void TensorUpdate::set_mean_of_rows(std::int64_t matrix, double mean) {
  visit([&]<class R, class Real>(const R&) {
    reinterpret_cast<Real*>(job_.plan.mean_of_rows)[matrix] = static_cast<Real>(mean);
  });
}

void TensorUpdate::sum_chunk(std::int64_t chunk) {
  const auto count = job_.plan.sum_bytes / static_cast<std::int64_t>(sizeof(double));
  double* totals = job_.plan.totals + chunk * count;
  std::fill_n(totals, count, 0.0);
  run_loop(job_.plan.chunks(Pass::kSum).range(chunk, job_.step.layout.size), SlotAccess::kReads,
           [&](const UpdateArguments& arguments, IndexRange elements) {
             job_.rule_kernels().sum(arguments, elements, totals);
           });
}

RuleSums TensorUpdate::collect_sums() const {
  RuleSums sums;
  visit([&]<class R, class Real>(const R&) {
    if constexpr (kHasSums<R>) {
      sums.count = kSumCount<R>;
      static_assert(kSumCount<R> <= std::tuple_size_v<decltype(sums.values)>);
      for (std::int64_t chunk = 0; chunk < job_.plan.chunks(Pass::kSum).count; ++chunk) {
        for (std::size_t k = 0; k < kSumCount<R>; ++k) {
          sums.values[k] += job_.plan.totals[chunk * static_cast<std::int64_t>(kSumCount<R>) +
                                             static_cast<std::int64_t>(k)];
        }
      }
    }
  });
  return sums;
}

void TensorUpdate::finish_sums(const RuleSums& sums) {
  visit([&]<class R, class Real>(const R&) {
    if constexpr (kHasSums<R>) {
      double totals[kSumCount<R>];
      std::copy_n(sums.values.begin(), kSumCount<R>, totals);
      R::finish(*reinterpret_cast<typename R::template Constants<Real>*>(constants_.bytes), totals,
                job_.step.whole_size());
    }
  });
  advance_scalars();
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

void* TensorUpdate::matrix_in(std::span<std::byte> workspace) {
  void* aligned = workspace.data();
  std::size_t room = workspace.size();
  return std::align(kWorkspaceAlignment, 1, aligned, room);
}

void TensorUpdate::write_matrix(void* matrix) const {
  run_loop({0, job_.step.layout.size}, SlotAccess::kReads,
           [&](const UpdateArguments& arguments, IndexRange elements) {
             job_.rule_kernels().matrix_input(arguments, elements, matrix);
           });
}

const void* TensorUpdate::orthogonalize(const Multiply& multiply, void* matrix) const {
  const void* result = nullptr;
  visit([&]<class R, class Real>(const R& rule) {
    if constexpr (kIsOrthogonal<R>) {
      const auto product = [&](const MatrixProduct& each) {
        multiply ? multiply(each) : job_.kernels.multiply(each);
      };
      const Matrices shape = matrix_of(job_.step.whole());
      auto* elements = static_cast<Real*>(matrix);
      result = newton_schulz(rule.newton_schulz(), shape, elements, elements + shape.elements(),
                             MatrixWork{product, shift_square<Real>});
    }
  });
  return result;
}

void TensorUpdate::apply_chunk(std::int64_t chunk) {
  const IndexRange elements = job_.plan.chunks(Pass::kApply).range(chunk, job_.step.layout.size);
  double squares = 0;
  run_loop(elements, SlotAccess::kChanges, [&](const UpdateArguments& arguments, IndexRange block) {
    squares += job_.rule_kernels().apply(arguments, block);
  });
  if (arguments_.measures) {
    job_.plan.partials[chunk].sums = {squares, squares};
  }
}

}  // namespace sing::cpu
