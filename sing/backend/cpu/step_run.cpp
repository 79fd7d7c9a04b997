// Runs the items of a plan: small tensors whole, large ones chunk by chunk, pass after pass.
#include "sing/backend/cpu/step_run.hpp"

#include <cmath>
#include <functional>
#include <thread>
#include <utility>

#include "sing/backend/cpu/measure_pass.hpp"

namespace sing::cpu {
namespace {

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
      multiply_(multiply),
      scales_(plan_.tensors.size()),
      large_(std::make_unique<LargeTensorRun[]>(plan_.large_tensors)),
      queue_(plan_.columns) {}

std::size_t StepRun::bytes() const {
  return plan_.bytes() + scales_.capacity() * sizeof(GradientScale) +
         plan_.large_tensors * sizeof(LargeTensorRun) + queue_.bytes() + matrices_.bytes() +
         workspaces_.size() * plan_.workspace_bytes;
}

TensorJob StepRun::job(std::size_t tensor) const {
  const TensorStep& step = request_->tensors[tensor];
  return {.step = step,
          .group = request_->groups[step.group],
          .plan = plan_.tensors[tensor],
          .kernels = kernels_.of(step.dtype),
          .loss_scale = request_->loss_scale};
}

void StepRun::step(const StepRequest& request, int workers, const Executor& executor) {
  prepare(request, workers);
  run(request, workers, executor);
  if (executor_failure_) {
    std::rethrow_exception(std::exchange(executor_failure_, nullptr));
  }
}

void StepRun::run(const StepRequest& request, int workers, const Executor& executor) {
  Worker caller;
  if (plan_.measures_first) {
    run_items(plan_.measure_items, workers, executor);
    if (has_shards(request)) {
      measure_shards();
    }
    if (!accept_measured()) {
      return;
    }
    clip_measured();
    for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
      if (has_gradient(i) && !plan_.tensors[i].is_small) {
        begin_large_update(i, caller);
      }
    }
    if (has_shards(request)) {
      run_items(plan_.factor_items, workers, executor);
      complete_factors(shards_, *request.sum_shards, packed_);
      run_items(plan_.sum_items, workers, executor);
      complete_sums(shards_, *request.sum_shards, packed_);
      orthogonalize_shards(workers, executor);
    }
    run_items(plan_.items, workers, executor);
  } else {
    for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
      if (plan_.tensors[i].measured_by_update && !plan_.tensors[i].is_small) {
        scales_[i] = scale_before_measuring(job(i));
        begin_large_update(i, caller);
      }
    }
    run_items(plan_.items, workers, executor);
    accept_measured();
  }
  for (const GroupStep& group : request.groups) {
    ++group.progress->steps;
  }
}

void StepRun::prepare(const StepRequest& request, int workers) {
  // Comes first, because it may run out of memory.
  while (plan_.workspace_bytes > 0 && workspaces_.size() < static_cast<std::size_t>(workers)) {
    workspaces_.emplace_back(plan_.workspace_bytes);
  }
  request_ = &request;
  executor_failure_ = nullptr;  // that of a step which an exchange between processes gave up
  for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
    if (!has_gradient(i) || plan_.tensors[i].is_small) {
      continue;
    }
    LargeTensorRun& run = large(i);
    for (std::size_t pass = 0; pass < kPassCount; ++pass) {
      run.chunks_left[pass].store(plan_.tensors[i].passes[pass].count, std::memory_order_relaxed);
    }
    run.open_pass.store(Pass::kMeasure, std::memory_order_relaxed);
  }
}

void StepRun::run_items(const std::vector<Item>& items, int workers, const Executor& executor) {
  queue_.start(items.size());
  const std::function<void(int)> take_items = [&](int index) {
    const auto own = static_cast<std::size_t>(index);
    Worker worker;
    if (own < workspaces_.size()) {
      worker.workspace = workspaces_[own];
    }
    const auto may_start = [&](std::size_t item) { return is_open(items[item]); };
    while (const auto item = queue_.take(own, may_start)) {
      run_item(items[*item], worker);
    }
  };
  try {
    executor(workers, take_items);
  } catch (...) {
    executor_failure_ = std::current_exception();
  }
  take_items(0);  // the items that an executor which failed or left out tasks has not run
}

bool StepRun::is_open(const Item& item) const {
  return item.kind != ItemKind::kChunk || item.pass == Pass::kMeasure ||
         large(item.tensor).open_pass.load(std::memory_order_relaxed) >= item.pass;
}

void StepRun::run_item(const Item& item, Worker& worker) {
  if (item.kind == ItemKind::kNothing) {
    return;
  }
  if (item.kind == ItemKind::kChunk) {
    run_chunk(item, worker);
    return;
  }
  if (item.kind == ItemKind::kWriteMatrix) {
    matrices_.write_part(item.tensor);
    return;
  }
  if (item.kind == ItemKind::kOwnMatrix) {
    matrices_.orthogonalize_own(item.tensor, multiply_, worker.workspace);
    return;
  }
  for (std::size_t tensor = item.tensor; tensor < item.end; ++tensor) {
    if (has_gradient(tensor)) {
      run_small_tensor(tensor, item.kind, worker);
    }
  }
}

void StepRun::run_small_tensor(std::size_t tensor, ItemKind kind, Worker& worker) {
  const TensorJob job = this->job(tensor);
  if (job.plan.measured_by_update) {
    scales_[tensor] = scale_before_measuring(job);
    update_small_tensor(tensor, worker);
    scales_[tensor] = finish_measure(job);
    return;
  }
  if (kind != ItemKind::kUpdateTensors) {
    for (std::int64_t chunk = 0; chunk < job.plan.chunks(Pass::kMeasure).count; ++chunk) {
      measure_chunk(job, chunk);
    }
    scales_[tensor] = finish_measure(job);
  }
  if (kind != ItemKind::kMeasureTensors) {
    update_small_tensor(tensor, worker);
  }
}

void StepRun::update_small_tensor(std::size_t tensor, Worker& worker) {
  if (!takes_part(*request_, scales_[tensor])) {
    return;
  }
  const TensorPlan& plan = plan_.tensors[tensor];
  TensorUpdate update(job(tensor), scales_[tensor], worker.constants);
  for (const Pass pass : {Pass::kFactor, Pass::kSum, Pass::kApply}) {
    if (pass == Pass::kApply && plan.is_orthogonal) {
      void* const matrix = TensorUpdate::matrix_in(worker.workspace);
      update.write_matrix(matrix);
      update.use_orthogonal(update.orthogonalize(multiply_, matrix));
    }
    for (std::int64_t chunk = 0; chunk < plan.chunks(pass).count; ++chunk) {
      update.run_chunk(pass, chunk);
    }
    update.finish(pass);
  }
}

void StepRun::begin_large_update(std::size_t tensor, Worker& worker) {
  LargeTensorRun& run = large(tensor);
  run.update.reset();
  if (!takes_part(*request_, scales_[tensor])) {
    run.open_pass.store(Pass::kApply, std::memory_order_release);
    return;
  }
  run.update.emplace(job(tensor), scales_[tensor], worker.constants);
  if (plan_.tensors[tensor].is_shard) {
    run.open_pass.store(Pass::kApply, std::memory_order_release);  // shard stages order its passes
    return;
  }
  open_pass(Pass::kFactor, tensor);
}

void StepRun::open_pass(Pass pass, std::size_t tensor) {
  LargeTensorRun& run = large(tensor);
  while (pass < Pass::kApply && plan_.tensors[tensor].chunks(pass).count == 0) {
    run.update->finish(pass);
    pass = next(pass);
  }
  run.open_pass.store(pass, std::memory_order_release);
}

void StepRun::run_chunk(const Item& item, Worker& worker) {
  LargeTensorRun& run = large(item.tensor);
  for (int attempt = 0; run.open_pass.load(std::memory_order_acquire) < item.pass; ++attempt) {
    pause_briefly(attempt);
  }
  if (item.pass == Pass::kMeasure) {
    measure_chunk(job(item.tensor), item.end);
  } else if (run.update) {
    run.update->run_chunk(item.pass, item.end);
  } else {
    return;
  }
  std::atomic<std::int64_t>& left = run.chunks_left[static_cast<std::size_t>(item.pass)];
  if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    finish_pass(item.pass, item.tensor, worker);
  }
}

void StepRun::finish_pass(Pass pass, std::size_t tensor, Worker& worker) {
  if (plan_.tensors[tensor].is_shard) {
    return;  // shard stages finish it
  }
  const bool measured_by_update = plan_.tensors[tensor].measured_by_update;
  if (pass == Pass::kMeasure || (pass == Pass::kApply && measured_by_update)) {
    scales_[tensor] = finish_measure(job(tensor));
  }
  if (pass == Pass::kMeasure && !plan_.measures_first) {
    begin_large_update(tensor, worker);
  } else if (pass == Pass::kFactor || pass == Pass::kSum) {
    large(tensor).update->finish(pass);
    open_pass(next(pass), tensor);
  }
}

void StepRun::measure_shards() {
  shards_.clear();
  std::vector<GradientSums> sums;
  for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
    if (request_->tensors[i].shard != nullptr) {
      shards_.push_back({job(i), has_gradient(i) ? &large(i).update : &no_update_});
      sums.push_back(has_gradient(i) ? combine_chunks(shards_.back().job) : GradientSums{});
    }
  }
  complete_rows(shards_, *request_->sum_shards, packed_, sums);
  sum_gradient_sums(*request_, packed_, sums);
  std::size_t shard = 0;
  for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
    if (request_->tensors[i].shard != nullptr) {
      const GradientSums& whole = sums[shard++];
      if (has_gradient(i)) {
        scales_[i] = finish_measure(job(i), whole);
      }
    }
  }
}

void StepRun::orthogonalize_shards(int workers, const Executor& executor) {
  matrices_.begin(shards_);
  if (matrices_.count() == 0) {
    return;
  }
  const auto run_all = [&](ItemKind kind, std::size_t count) {
    std::vector<Item> items;
    for (std::size_t i = 0; i < count; ++i) {
      items.push_back({kind, Pass::kSum, static_cast<std::uint32_t>(i), 0});
    }
    while (items.size() % plan_.columns != 0) {
      items.push_back({ItemKind::kNothing, Pass::kSum, 0, 0});
    }
    run_items(items, workers, executor);
  };
  run_all(ItemKind::kWriteMatrix, matrices_.count());
  matrices_.hand_in(*request_->exchange_parts);
  run_all(ItemKind::kOwnMatrix, matrices_.own_count());
  matrices_.hand_back(*request_->exchange_parts);
}

void StepRun::clip_measured() {
  if (!clips(*request_)) {
    return;
  }
  double squares = 0;
  for (std::size_t i = 0; i < scales_.size(); ++i) {
    if (has_gradient(i) && scales_[i].finite) {
      squares += scales_[i].gradient_norm * scales_[i].gradient_norm;
    }
  }
  const double total_norm = request_->total_norm.value_or(std::sqrt(squares));
  for (std::size_t i = 0; i < scales_.size(); ++i) {
    if (const std::optional<double> limit = job(i).group.clip_limit()) {
      scales_[i].factor *= clip_factor(*limit, total_norm);
    }
  }
}

bool StepRun::accept_measured() {
  OptimizerProgress& progress = *request_->progress;
  const bool gives_up =
      request_->non_finite == NonFinite::kSkipStep || request_->non_finite == NonFinite::kThrow;
  bool all_finite = true;
  for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
    if (!has_gradient(i) || scales_[i].finite) {
      continue;
    }
    if (all_finite) {
      progress.first_non_finite = static_cast<std::int64_t>(i) + 1;
      all_finite = false;
    }
    if (!gives_up) {
      ++request_->tensors[i].progress->non_finite;
      progress.skipped_tensors += request_->non_finite == NonFinite::kSkipTensor ? 1 : 0;
    }
  }
  if (gives_up && !all_finite) {
    ++progress.skipped_steps;
    return false;
  }
  return true;
}

}  // namespace sing::cpu
