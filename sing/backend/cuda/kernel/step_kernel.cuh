// The step kernel: warps take work items from a queue, in order, until it is empty.
#pragma once

#include "sing/backend/cuda/kernel/apply.cuh"
#include "sing/backend/cuda/kernel/measure_result.cuh"

namespace sing::cuda {

// Measures one chunk. The warp that completes a tensor publishes its result.
template <class R, class Real, class G>
__device__ __forceinline__ void measure_item(const StepArguments& step, const WorkItem& item,
                                             unsigned int generation) {
  const std::int64_t index = item.tensor;
  const auto tensor = read_record<TensorChunks>(&step.tensors[index]);
  const GradientRecord gradient = read_record(&step.gradients[index]);
  if (gradient.data == nullptr) {
    return;
  }
  const LaneSums found = measure_chunk<Real, G>(step, item, tensor, gradient);
  ChunkSums sums{warp_sum(found.squares), warp_sum(found.centred_squares), found.mean, 0};
  const ResultInputs inputs(step, index, generation);
  if (tensor.chunks > 1) {
    if (!complete_tensor<Real>(step, index, tensor, item.index, sums)) {
      return;
    }
  } else {
    __syncwarp();  // orders the row means, which all lanes wrote, before lane 0's fence
    if (lane_id() == 0) {
      fence_acquire_release();
    }
  }
  if (lane_id() == 0) {
    publish_result<R, Real>(step, index, inputs,
                            {.squares = sums.squares, .centred_squares = sums.centred_squares});
  }
}

template <class R, class Real, class G, class P>
__device__ __forceinline__ void run_item(const StepArguments& step, const WorkItem& item,
                                         unsigned int generation, ItemCursor& items) {
  if (item.kind != WorkKind::kApply) {
    measure_item<R, Real, G>(step, item, generation);
  }
  if (item.kind != WorkKind::kMeasure) {
    apply_tile<R, Real, G, P>(step, item, generation, items);
  }
}

// Called by the last warp of a step, when no other warp reads the counters any more. Most counters
// are advanced by additions that return nothing: the launch ends when its last load has returned.
// `progress` belongs to the group with this lane's number, or is null.
__device__ __forceinline__ void end_step(const StepArguments& step, const OptimizerRecord& record,
                                         GroupProgress* progress, bool all_finite) {
  QueueState& queue = *step.queue;
  const bool skipped = skips_steps(record.non_finite) && !all_finite;
  if (progress != nullptr) {
    add(&progress->steps, skipped ? 0 : 1);
  }
  for (std::int64_t group = lane_id() + 32; group < record.group_count; group += 32) {
    add(&step.groups[group].progress->steps, skipped ? 0 : 1);
  }
  if (lane_id() == 0) {
    atomicAdd(&queue.generation, 1U);
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

// Called by one warp of each of `count` workers when it finds the queue empty. The last of them
// resets the queue and, in the step's last launch, ends the step. No fence is needed before
// `exited` is incremented: of what the launch wrote, the last worker reads only the non-finite code
// and the number of skipped tensors, and the threads that change these fence afterwards
// (publish_result, advance_counters).
__device__ __forceinline__ void leave_queue(const StepArguments& step, std::int64_t count) {
  // Loaded while the atomic operation is under way.
  const OptimizerRecord record = *step.optimizer;
  const int lane = lane_id();
  GroupProgress* progress = lane < record.group_count ? step.groups[lane].progress : nullptr;
  unsigned long long before = 0;
  __syncwarp();
  if (lane == 0) {
    before = atomicAdd(&step.queue->exited, 1ULL);
  }
  before = __shfl_sync(kFullWarp, before, 0);
  if (static_cast<std::int64_t>(before % kOneNonFinite) != count - 1) {
    return;
  }
  const bool all_finite = before < kOneNonFinite;
  if (!all_finite) {
    fence_acquire_release();  // with the atomic operation: acquires what those threads released
  }
  if (lane == 0) {
    step.queue->next = 0;
    step.queue->exited = step.ends_step ? 0 : before / kOneNonFinite * kOneNonFinite;
  }
  if (step.ends_step) {
    end_step(step, record, progress, all_finite);
  }
}

__device__ __forceinline__ unsigned long long next_ticket(QueueState* queue) {
  const unsigned long long ticket = lane_id() == 0 ? atomicAdd(&queue->next, 1ULL) : 0ULL;
  return __shfl_sync(kFullWarp, ticket, 0);
}

// The first ticket of each warp. A block draws them together, because all warps of the device at
// once would contend for the counter. With static shared memory for the ticket a step took 11 %
// longer, presumably because the staged words then begin 16 bytes off a multiple of 128.
__device__ __forceinline__ unsigned long long first_ticket(QueueState* queue) {
  extern __shared__ uint4 room[];
  auto* first = reinterpret_cast<unsigned long long*>(room);
  if (threadIdx.x == 0) {
    *first = atomicAdd(&queue->next, static_cast<unsigned long long>(kStepWarps));
  }
  __syncthreads();
  const unsigned long long ticket = *first + threadIdx.x / 32;
  __syncthreads();  // before staged words overwrite the ticket
  return ticket;
}

// Prepares the block's share of the tensors, then draws each warp's first ticket: a warp must not
// hold a ticket while it does other work.
template <class R, class Real>
__device__ __forceinline__ unsigned long long prepare_and_draw(const StepArguments& step,
                                                               unsigned int generation) {
  const std::int64_t first_warp = static_cast<std::int64_t>(blockIdx.x) * kStepWarps;
  if (first_warp >= step.prepared_count) {
    return first_ticket(step.queue);
  }
  prepare_tensors<R, Real>(step, generation, first_warp + threadIdx.x / 32,
                           static_cast<std::int64_t>(gridDim.x) * kStepWarps);
  return next_ticket(step.queue);
}

// Launch shape: as many blocks as fit on the device. Each warp takes items until none is left, with
// no barrier between warps, so that each warp's latency is hidden by the others. An item waits only
// for items before it, and tickets are drawn in order, so the oldest unfinished item never waits:
// there is no deadlock, however few warps run at a time. G and P are the storage types of gradients
// and parameters.
template <class R, class Real, class G, class P>
__global__ void __launch_bounds__(kStepThreads, kStepBlocksPerMultiprocessor)
    step_kernel(const __grid_constant__ StepArguments step) {
  const unsigned int generation = __ldcg(&step.queue->generation) + 1;  // this step's
  ItemCursor items(step, prepare_and_draw<R, Real>(step, generation));
  for (WorkItem item = items.take(); item.tensor != kNoTensor; item = items.take()) {
    run_item<R, Real, G, P>(step, item, generation, items);
    __syncwarp();
  }
  leave_queue(step, static_cast<std::int64_t>(gridDim.x) * kStepWarps);
}

}  // namespace sing::cuda
