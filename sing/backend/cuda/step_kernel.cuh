// The step kernel: blocks take work items in order from a queue until it is empty.
#pragma once

#include "sing/backend/cuda/factors.cuh"
#include "sing/backend/cuda/step_kernels.hpp"

namespace sing::cuda {

struct StepShared {
  MeasureShared measure;
  StridedShared strided;
  SumsShared sums;
  std::int64_t item;
  int arrived_last;
};

__device__ __forceinline__ bool step_is_skipped(const StepArguments& step) {
  const NonFinite policy = step.step->non_finite;
  return (policy == NonFinite::kSkipStep || policy == NonFinite::kThrow) &&
         *static_cast<volatile unsigned long long*>(&step.queue->non_finite_code) != 0;
}

// Sums of a chunk over the team, in the thread of rank 0.
template <class Real>
__device__ __forceinline__ ChunkSums measure_sums(const StepArguments& step,
                                                  std::int64_t index,
                                                  std::int64_t chunk,
                                                  Team team,
                                                  StepShared& shared) {
  const TensorRecord& tensor = step.tensors[index];
  const bool centralizes = step.groups[tensor.group].standardize.centralizes(tensor.rank);
  const ThreadSums found =
      measure_chunk<Real>(tensor, step.gradients[index], chunk, centralizes, team, shared.measure);
  double sums[2] = {found.squares, found.centred_squares};
  team_sum(team, sums, shared.measure.sums);
  return {sums[0], sums[1], found.mean, 0};
}

// Measures one chunk; who brings a tensor's last chunk concludes the tensor.
template <class R, class Real>
__device__ __forceinline__ void measure_and_conclude(const StepArguments& step,
                                                     std::int64_t index,
                                                     std::int64_t chunk,
                                                     Team team,
                                                     StepShared& shared) {
  const TensorRecord& tensor = step.tensors[index];
  ChunkSums sums = measure_sums<Real>(step, index, chunk, team, shared);
  if (tensor.chunks > 1) {
    ChunkSums* partials = step.partials + tensor.first_partial;
    if (team.rank == 0) {
      partials[chunk] = sums;
    }
    if (!arrives_last(step, index, tensor.chunks, shared.arrived_last)) {
      return;
    }
    const bool centralizes = step.groups[tensor.group].standardize.centralizes(tensor.rank);
    const ThreadSums found = combine_chunks<Real>(tensor, partials, centralizes);
    double totals[2] = {found.squares, found.centred_squares};
    team_sum(team, totals, shared.measure.sums);
    sums = {totals[0], totals[1], 0, 0};
  }
  // Orders the row means, written by all threads, before the flag.
  team.barrier();
  if (team.rank == 0) {
    conclude<R, Real>(
        step, index, {.squares = sums.squares, .centred_squares = sums.centred_squares});
    __threadfence();
    store_release(&step.ready[index], step.queue->epoch + 1);
  }
}

__device__ __forceinline__ void wait_until_measured(const StepArguments& step,
                                                    std::int64_t index,
                                                    Team team) {
  if (team.rank == 0) {
    const unsigned int wanted = step.queue->epoch + 1;
    while (load_acquire(&step.ready[index]) != wanted) {
      __nanosleep(64);
    }
  }
  team.barrier();
}

__device__ __forceinline__ bool measures(Work work) {
  return work == Work::kMeasure || work == Work::kWhole || work == Work::kTinyMeasure ||
         work == Work::kTinyWhole;
}

__device__ __forceinline__ bool applies(Work work) {
  return work == Work::kApply || work == Work::kWhole || work == Work::kTinyApply ||
         work == Work::kTinyWhole;
}

// Measure and apply: one chunk by the block, or several tiny tensors, a warp each.
template <class R, class Real>
__device__ __forceinline__ void step_item(const StepArguments& step,
                                          const WorkItem& item,
                                          StepShared& shared) {
  const bool tiny = item.work == Work::kTinyMeasure || item.work == Work::kTinyApply ||
                    item.work == Work::kTinyWhole;
  const Team block = block_team();
  const Team team = tiny ? warp_team() : block;
  const std::int64_t first = static_cast<std::int64_t>(item.tensor) + (tiny ? block.warp() : 0);
  const std::int64_t end = static_cast<std::int64_t>(item.tensor) + (tiny ? item.index : 1);
  for (std::int64_t index = first; index < end; index += tiny ? block.warps() : 1) {
    if (step.gradients[index].data == nullptr) {
      continue;
    }
    const std::int64_t chunk = tiny ? 0 : item.index;
    if (measures(item.work)) {
      measure_and_conclude<R, Real>(step, index, chunk, team, shared);
    }
    if (applies(item.work)) {
      wait_until_measured(step, index, team);
      apply_chunk<R, Real>(step, index, chunk, team);
    }
  }
}

// Items of rules that make more than one pass.
template <class R, class Real>
__device__ __forceinline__ void extra_item(const StepArguments& step,
                                           const WorkItem& item,
                                           StepShared& shared) {
  if (!conclusion_of<R, Real>(step, item.tensor)->updates) {
    return;
  }
  if constexpr (kIsFactored<R>) {
    if (item.work == Work::kFactorRows) {
      factor_rows<R, Real>(step, item.tensor, item.index);
    } else if (item.work == Work::kFactorColumns) {
      factor_columns<R, Real>(step, item.tensor, item.index, shared.strided);
    } else if (item.work == Work::kMatrixMeans) {
      matrix_means<R, Real>(step, item.tensor, item.index, shared.measure.sums);
    }
  }
  if constexpr (kSumCount < R >> 0) {
    if (item.work == Work::kSums) {
      sum_chunk<R, Real>(step, item.tensor, item.index, shared.sums);
    }
  }
}

template <class R, class Real>
__device__ __forceinline__ void run_item(const StepArguments& step,
                                         const WorkItem& item,
                                         StepShared& shared) {
  const bool writes = item.work != Work::kMeasure && item.work != Work::kTinyMeasure &&
                      item.work != Work::kStridedMeans;
  if (writes && step_is_skipped(step)) {
    return;
  }
  if (measures(item.work) || applies(item.work)) {
    step_item<R, Real>(step, item, shared);
    return;
  }
  if (step.gradients[item.tensor].data == nullptr) {
    return;
  }
  if (item.work == Work::kStridedMeans) {
    strided_means<Real>(step, item.tensor, item.index, shared.strided);
  }
  if constexpr (kIsFactored<R> || (kSumCount < R >> 0)) {
    if (item.work >= Work::kFactorRows) {
      extra_item<R, Real>(step, item, shared);
    }
  }
}

// By the last block of a step: counters advance when no one reads them any more.
__device__ __forceinline__ void end_step(const StepArguments& step) {
  QueueState& queue = *step.queue;
  const bool skipped = step_is_skipped(step);
  if (!skipped) {
    for (std::int64_t group = threadIdx.x; group < step.step->group_count; group += blockDim.x) {
      ++step.groups[group].progress->steps;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    OptimizerProgress& progress = *step.step->progress;
    const unsigned long long code = __ldcg(&queue.non_finite_code);
    if (code != 0) {
      progress.first_non_finite = static_cast<std::int64_t>(~code) + 1;
    }
    if (skipped) {
      ++progress.skipped_steps;
    } else {
      progress.skipped_tensors += static_cast<std::int64_t>(__ldcg(&queue.skipped_tensors));
    }
    queue.non_finite_code = 0;
    queue.skipped_tensors = 0;
    ++queue.epoch;
  }
}

// Launch shape: as many blocks as fit the device, each taking items until none is left. An item
// waits for items before it only, and blocks take items in order, so the oldest unfinished item
// never waits: no deadlock, however few blocks run at a time. The next ticket is drawn while an
// item is worked on, which keeps that order.
template <class R, class Real>
__global__ void __launch_bounds__(kMaxThreads, 2)
    step_kernel(const __grid_constant__ StepArguments step) {
  __shared__ StepShared shared;
  std::int64_t ticket = 0;  // of thread 0
  if (threadIdx.x == 0) {
    ticket = static_cast<std::int64_t>(atomicAdd(&step.queue->next, 1ULL));
  }
  for (;;) {
    if (threadIdx.x == 0) {
      shared.item = step.item_begin + ticket;
    }
    __syncthreads();
    const std::int64_t taken = shared.item;
    __syncthreads();
    if (taken >= step.item_end) {
      break;
    }
    if (threadIdx.x == 0) {
      ticket = static_cast<std::int64_t>(atomicAdd(&step.queue->next, 1ULL));
    }
    run_item<R, Real>(step, step.items[taken], shared);
  }
  if (threadIdx.x == 0) {
    __threadfence();
    shared.arrived_last = atomicInc(&step.queue->exited, gridDim.x - 1) == gridDim.x - 1 ? 1 : 0;
    __threadfence();
  }
  __syncthreads();
  if (shared.arrived_last != 0) {
    if (threadIdx.x == 0) {
      step.queue->next = 0;
    }
    if (step.ends_step) {
      end_step(step);
    }
  }
}

// One kernel a rule, in the order of the list.
template <class Real>
std::array<const void*, kRuleCount> make_step_kernels() {
  std::array<const void*, kRuleCount> kernels{};
  std::size_t next = 0;
  for_each_rule_type(
      [&]<class R>() { kernels[next++] = reinterpret_cast<const void*>(&step_kernel<R, Real>); });
  return kernels;
}

}  // namespace sing::cuda
