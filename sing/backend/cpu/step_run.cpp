// Runs the items of a plan: which chunk comes next, and what to do when a pass over a tensor ends.
#include "sing/backend/cpu/step_run.hpp"

#include <new>
#include <thread>

#include "sing/backend/cpu/visit_rule.hpp"

namespace sing::cpu {
namespace {

enum PassIndex { kMeasurePass, kFactorPass, kSumPass, kApplyPass };

// Items that are not a chunk of a large tensor wait for nothing, as those of measure.
PassIndex pass_of(Work work) {
  return work == Work::kFactor  ? kFactorPass
         : work == Work::kSum   ? kSumPass
         : work == Work::kApply ? kApplyPass
                                : kMeasurePass;
}

const void* constants_for(const Rule& rule, Dtype dtype, const StepScalars& scalars,
                          CachedConstants& cache) {
  if (cache.rule != &rule || cache.scalars != scalars || real_of(cache.dtype) != real_of(dtype)) {
    visit_rule(rule, dtype, [&]<class R, class Real>(const R& each) {
      using Constants = typename R::template Constants<Real>;
      static_assert(sizeof(Constants) <= sizeof(ConstantsStorage));
      ::new (static_cast<void*>(cache.storage.bytes))
          Constants(each.template constants<Real>(scalars));
    });
    cache.rule = &rule;
    cache.scalars = scalars;
    cache.dtype = dtype;
  }
  return cache.storage.bytes;
}

void pause_briefly(int attempt) {
  if (attempt > 64) {
    std::this_thread::yield();
    return;
  }
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

StepRun::StepRun(StepPlan plan, const Kernels& kernels, const Multiply& multiply)
    : plan_(std::move(plan)),
      kernels_(kernels),
      scales_(plan_.tensors.size()),
      large_(std::make_unique<LargeTensorRun[]>(plan_.large_tensors)),
      large_index_(plan_.tensors.size()),
      queue_(plan_.columns),
      multiply_(multiply) {
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
    const bool is_large = plan_.tensors[i].measure.count > 0 && !plan_.tensors[i].is_small;
    large_index_[i] = is_large ? next++ : 0;
  }
}

std::size_t StepRun::bytes() const {
  return plan_.bytes() + scales_.capacity() * sizeof(GradientScale) +
         plan_.large_tensors * sizeof(LargeTensorRun) +
         large_index_.capacity() * sizeof(std::uint32_t) + queue_.bytes() +
         workspaces_.size() * plan_.workspace_bytes;
}

const Chunks& StepRun::chunks_of(int pass_index, std::size_t tensor) const {
  const TensorPlan& plan = plan_.tensors[tensor];
  switch (pass_index) {
    case kMeasurePass:
      return plan.measure;
    case kFactorPass:
      return plan.factor;
    case kSumPass:
      return plan.sum;
    default:
      return plan.apply;
  }
}

void StepRun::reset(const StepRequest& request) {
  request_ = &request;
  for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
    const TensorPlan& plan = plan_.tensors[i];
    if (plan.is_small || plan.measure.count == 0) {
      continue;
    }
    LargeTensorRun& run = large_[large_index_[i]];
    for (int pass = kMeasurePass; pass <= kApplyPass; ++pass) {
      run.remaining[pass].store(chunks_of(pass, i).count, std::memory_order_relaxed);
    }
    run.open_pass.store(kMeasurePass, std::memory_order_relaxed);
  }
}

void StepRun::step(const StepRequest& request, int workers, const Executor& executor) {
  reset(request);
  while (plan_.workspace_bytes > 0 && workspaces_.size() < static_cast<std::size_t>(workers)) {
    workspaces_.emplace_back(plan_.workspace_bytes);  // here, where running out of memory may throw
  }
  if (!plan_.measure_items.empty()) {
    run_items(plan_.measure_items, workers, executor);
    if (!accept_measured()) {
      return;
    }
    clip_measured();
    CachedConstants cache(0);
    for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
      if (has_gradient(i) && !plan_.tensors[i].is_small) {
        begin_large_update(i, cache);
      }
    }
    run_items(plan_.items, workers, executor);
  } else {
    CachedConstants cache(0);
    for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
      if (plan_.tensors[i].measured_by_update && !plan_.tensors[i].is_small) {
        begin_unmeasured(i);
        begin_large_update(i, cache);
      }
    }
    run_items(plan_.items, workers, executor);
    accept_measured();
  }
  advance_groups();
}

void StepRun::run_items(const std::vector<Item>& items, int workers, const Executor& executor) {
  queue_.start(items.size());
  executor(workers, [&](int worker) {
    CachedConstants cache(worker);
    const auto is_open = [&](std::size_t item) { return is_pass_open(items[item]); };
    while (const auto item = queue_.take(static_cast<std::size_t>(worker), is_open)) {
      run_item(items[*item], cache);
    }
  });
}

bool StepRun::is_pass_open(const Item& item) const {
  const PassIndex pass = pass_of(item.work);
  return pass == kMeasurePass ||
         large_[large_index_[item.tensor]].open_pass.load(std::memory_order_relaxed) >= pass;
}

void StepRun::run_item(const Item& item, CachedConstants& cache) {
  switch (item.work) {
    case Work::kNothing:
      break;
    case Work::kWholeTensors:
    case Work::kMeasureTensors:
    case Work::kUpdateTensors:
      run_small(item, cache);
      break;
    default:
      run_chunk(pass_of(item.work), item.tensor, item.end, cache);
  }
}

void StepRun::run_small(const Item& item, CachedConstants& cache) {
  for (std::size_t tensor = item.tensor; tensor < item.end; ++tensor) {
    if (!has_gradient(tensor)) {
      continue;
    }
    if (plan_.tensors[tensor].measured_by_update) {
      begin_unmeasured(tensor);
      update_small(tensor, cache);
      finish_measure(tensor);
      continue;
    }
    if (item.work != Work::kUpdateTensors) {
      for (std::int64_t chunk = 0; chunk < plan_.tensors[tensor].measure.count; ++chunk) {
        measure_chunk(tensor, chunk);
      }
      finish_measure(tensor);
    }
    if (item.work != Work::kMeasureTensors) {
      update_small(tensor, cache);
    }
  }
}

void StepRun::run_chunk(int pass_index, std::size_t tensor, std::int64_t chunk,
                        CachedConstants& cache) {
  LargeTensorRun& run = large_[large_index_[tensor]];
  for (int attempt = 0; run.open_pass.load(std::memory_order_acquire) < pass_index; ++attempt) {
    pause_briefly(attempt);
  }
  const TensorPass& pass = run.pass;
  if (pass_index != kMeasurePass && pass.tensor == nullptr) {
    return;
  }
  switch (pass_index) {
    case kMeasurePass:
      measure_chunk(tensor, chunk);
      break;
    case kFactorPass:
      factor_chunk(pass, tensor, chunk);
      break;
    case kSumPass:
      sum_chunk(pass, tensor, chunk);
      break;
    default:
      apply_chunk(pass, tensor, chunk);
  }
  if (run.remaining[pass_index].fetch_sub(1, std::memory_order_acq_rel) == 1) {
    finish_pass(pass_index, tensor, cache);
  }
}

void StepRun::finish_pass(int pass_index, std::size_t tensor, CachedConstants& cache) {
  LargeTensorRun& run = large_[large_index_[tensor]];
  if (pass_index == kMeasurePass) {
    finish_measure(tensor);
    if (plan_.measure_items.empty()) {
      begin_large_update(tensor, cache);
    }
    return;
  }
  if (pass_index == kApplyPass) {
    if (plan_.tensors[tensor].measured_by_update) {
      finish_measure(tensor);
    }
    return;
  }
  if (pass_index == kFactorPass) {
    finish_factor(run.pass, tensor);
  } else if (pass_index == kSumPass) {
    finish_sum(run.pass, tensor, run.constants.bytes);
  }
  int next = pass_index + 1;
  while (next < kApplyPass && chunks_of(next, tensor).count == 0) {
    ++next;
  }
  run.open_pass.store(next, std::memory_order_release);
}

void StepRun::apply_chunk(const TensorPass& pass, std::size_t tensor, std::int64_t chunk) {
  const TensorPlan& plan = plan_.tensors[tensor];
  const double squares =
      rule_kernels_of(tensor).apply(pass, plan.apply.range(chunk, pass.tensor->layout.size));
  if (pass.measures) {
    plan.partials[chunk].sums = {squares, squares};
  }
}

bool StepRun::begin_update(std::size_t tensor, CachedConstants& cache, TensorPass& pass) {
  const TensorStep& step = request_->tensors[tensor];
  const TensorPlan& plan = plan_.tensors[tensor];
  const GroupStep& group = group_of(tensor);
  if (!takes_part(*request_, scales_[tensor])) {
    return false;
  }
  const bool merges = group.lookahead && (group.progress->steps + 1) % group.lookahead->period == 0;
  const bool is_first = step.progress->steps == 0;
  ++step.progress->steps;
  const StepScalars scalars{
      .step = step.progress->steps,
      .learning_rate = group.learning_rate(),
      .weight_decay = group.weight_decay(step.layout.rank),
      .factored = step.layout.factored(),
      .rows = plan.is_orthogonal ? step.layout.leading : 0,
      .columns = plan.is_orthogonal ? step.layout.size / step.layout.leading : 0};
  pass = {.tensor = &step,
          .row_means = plan.row_means,
          .gradient_factor = scales_[tensor].factor,
          .constants = constants_for(group.rule, step.dtype, scalars, cache),
          .mean_of_rows = plan.mean_of_rows,
          .orthogonal = nullptr,
          .curvature_factor = 1 / request_->loss_scale,
          .measures = plan.measured_by_update,
          .is_first = is_first,
          .merges = merges,
          .merge_alpha = merges ? group.lookahead->alpha : 0};
  return true;
}

void StepRun::begin_large_update(std::size_t tensor, CachedConstants& cache) {
  LargeTensorRun& run = large_[large_index_[tensor]];
  if (begin_update(tensor, cache, run.pass)) {
    run.constants = cache.storage;
    run.pass.constants = run.constants.bytes;
    if (plan_.tensors[tensor].sum.count == 0) {
      advance(run.pass, tensor, run.constants.bytes);
    }
    int next = kFactorPass;
    while (next < kApplyPass && chunks_of(next, tensor).count == 0) {
      ++next;
    }
    run.open_pass.store(next, std::memory_order_release);
  } else {
    run.pass.tensor = nullptr;
    run.open_pass.store(kApplyPass, std::memory_order_release);
  }
}

void StepRun::update_small(std::size_t tensor, CachedConstants& cache) {
  const TensorPlan& plan = plan_.tensors[tensor];
  TensorPass pass;
  if (!begin_update(tensor, cache, pass)) {
    return;
  }
  for (std::int64_t chunk = 0; chunk < plan.factor.count; ++chunk) {
    factor_chunk(pass, tensor, chunk);
  }
  if (plan.factor.count > 0) {
    finish_factor(pass, tensor);
  }
  ConstantsStorage own;
  if (plan.own_constants) {
    own = cache.storage;
    pass.constants = own.bytes;
    for (std::int64_t chunk = 0; chunk < plan.sum.count; ++chunk) {
      sum_chunk(pass, tensor, chunk);
    }
    finish_sum(pass, tensor, own.bytes);
  }
  if (plan.is_orthogonal) {
    orthogonalize(pass, tensor, cache.worker);
  }
  for (std::int64_t chunk = 0; chunk < plan.apply.count; ++chunk) {
    apply_chunk(pass, tensor, chunk);
  }
}

}  // namespace sing::cpu
