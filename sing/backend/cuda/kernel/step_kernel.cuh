// The step kernel: warps take work items in order from a queue until it is empty.
#pragma once

#include "sing/backend/cuda/kernel/apply.cuh"

namespace sing::cuda {

// Measures one chunk; who brings a tensor's last chunk concludes the tensor.
template <class R, class Real, class G>
__device__ __forceinline__ void measure_and_conclude(const StepArguments& step,
                                                     const WorkItem& item, unsigned int epoch) {
  const std::int64_t index = item.tensor;
  const auto tensor = read_record<TensorChunks>(&step.tensors[index]);
  const GradientRecord gradient = read_record(&step.gradients[index]);
  if (gradient.data == nullptr) {
    return;
  }
  const LaneSums found = measure_chunk<Real, G>(step, item, tensor, gradient);
  ChunkSums sums{warp_sum(found.squares), warp_sum(found.centred_squares), found.mean, 0};
  const ConclusionInputs inputs(step, index, epoch);
  if (tensor.chunks > 1) {
    if (!complete_tensor<Real>(step, index, tensor, item.index, sums)) {
      return;
    }
  } else {
    __syncwarp();  // orders the row means, written by all lanes, before the fence
    if (warp_team().rank == 0) {
      fence_acquire_release();
    }
  }
  if (warp_team().rank == 0) {
    conclude<R, Real>(step, index, inputs,
                      {.squares = sums.squares, .centred_squares = sums.centred_squares});
  }
}

template <class R, class Real, class G, class P>
__device__ __forceinline__ void run_item(const StepArguments& step, const WorkItem& item,
                                         unsigned int epoch, ItemQueue& items) {
  if (item.work != Work::kApply) {
    measure_and_conclude<R, Real, G>(step, item, epoch);
  }
  if (item.work != Work::kMeasure) {
    apply_tile<R, Real, G, P>(step, item, epoch, items);
  }
}

// By the last warp of a step: counters advance when no one reads them any more. What can be added
// without being read is: the launch ends when the last reading has come back. `progress`: of the
// lane's group, null where it has none.
__device__ __forceinline__ void end_step(const StepArguments& step, const StepRecord& record,
                                         GroupProgress* progress, bool all_finite) {
  QueueState& queue = *step.queue;
  const bool skipped = skips_steps(record.non_finite) && !all_finite;
  if (progress != nullptr) {
    add(&progress->steps, skipped ? 0 : 1);
  }
  for (std::int64_t group = warp_team().rank + 32; group < record.group_count; group += 32) {
    add(&step.groups[group].progress->steps, skipped ? 0 : 1);
  }
  if (warp_team().rank == 0) {
    atomicAdd(&queue.epoch, 1U);
    if (!all_finite) {
      OptimizerProgress& optimizer = *record.progress;
      optimizer.first_non_finite = static_cast<std::int64_t>(~__ldcg(&queue.non_finite_code)) + 1;
      const auto skipped_tensors = static_cast<std::int64_t>(__ldcg(&queue.skipped_tensors));
      add(skipped ? &optimizer.skipped_steps : &optimizer.skipped_tensors,
          skipped ? 1 : skipped_tensors);
      queue.non_finite_code = 0;
      queue.skipped_tensors = 0;
    }
  }
}

// Called by one warp of each of `count` parties when the queue is empty for it; the last of them
// sets the queue back, and ends the step with the step's last launch. Nobody waits for the writes
// of his last item: of what is written during a step, the last party reads counts of what is not
// finite or was skipped, and who changes one sees to it that it arrives.
__device__ __forceinline__ void leave_queue(const StepArguments& step, std::int64_t count) {
  // On their way meanwhile.
  const StepRecord record = *step.step;
  const int lane = warp_team().rank;
  GroupProgress* progress = lane < record.group_count ? step.groups[lane].progress : nullptr;
  unsigned long long before = 0;
  __syncwarp();
  if (lane == 0) {
    before = atomicAdd(&step.queue->exited, 1ULL);
  }
  before = __shfl_sync(kFullWarp, before, 0);
  if (static_cast<std::int64_t>(before % kNotFinite) != count - 1) {
    return;
  }
  const bool all_finite = before < kNotFinite;
  if (!all_finite) {
    fence_acquire_release();
  }
  if (lane == 0) {
    step.queue->next = 0;
    step.queue->exited = step.ends_step ? 0 : before / kNotFinite * kNotFinite;
  }
  if (step.ends_step) {
    end_step(step, record, progress, all_finite);
  }
}

__device__ __forceinline__ unsigned long long next_ticket(QueueState* queue) {
  const unsigned long long ticket = warp_team().rank == 0 ? atomicAdd(&queue->next, 1ULL) : 0ULL;
  return __shfl_sync(kFullWarp, ticket, 0);
}

// One for each warp, drawn by a block: all warps of the device at once would queue up for the
// counter. With static shared memory for it a step took 11 % longer, presumably because the staged
// words then begin 16 bytes off a multiple of 128.
__device__ __forceinline__ unsigned long long first_ticket(QueueState* queue) {
  extern __shared__ uint4 room[];
  auto* first = reinterpret_cast<unsigned long long*>(room);
  if (threadIdx.x == 0) {
    *first = atomicAdd(&queue->next, static_cast<unsigned long long>(kStepWarps));
  }
  __syncthreads();
  const unsigned long long ticket = *first + threadIdx.x / 32;
  __syncthreads();  // before the room is used for what it is for
  return ticket;
}

// The same of a block that has tensors to begin first: a ticket must not lie meanwhile.
template <class R, class Real>
__device__ __forceinline__ unsigned long long begin_and_draw(const StepArguments& step,
                                                             unsigned int epoch) {
  const std::int64_t first_warp = static_cast<std::int64_t>(blockIdx.x) * kStepWarps;
  if (first_warp >= step.begun_count) {
    return first_ticket(step.queue);
  }
  begin_conclusions<R, Real>(step, epoch, first_warp + threadIdx.x / 32,
                             static_cast<std::int64_t>(gridDim.x) * kStepWarps);
  return next_ticket(step.queue);
}

// Launch shape: as many blocks as fit the device, each warp taking items until none is left, with
// no barrier between warps: what one waits for, the others hide. An item waits for items before it
// only, and a warp takes items in order, so the oldest unfinished item is never one that waits: no
// deadlock, however few warps run at a time. G and P: how gradients and parameters are stored.
template <class R, class Real, class G, class P>
__global__ void __launch_bounds__(kStepThreads, kStepBlocksPerMultiprocessor)
    step_kernel(const __grid_constant__ StepArguments step) {
  const unsigned int epoch = __ldcg(&step.queue->epoch) + 1;  // the one this step makes
  ItemQueue items(step, begin_and_draw<R, Real>(step, epoch));
  for (WorkItem item = items.take(); item.tensor != kNoTensor; item = items.take()) {
    run_item<R, Real, G, P>(step, item, epoch, items);
    __syncwarp();
  }
  leave_queue(step, static_cast<std::int64_t>(gridDim.x) * kStepWarps);
}

}  // namespace sing::cuda
