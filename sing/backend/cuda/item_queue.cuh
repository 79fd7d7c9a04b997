// A warp's way through the items of a launch.
#pragma once

#include "sing/backend/cuda/chunk.cuh"
#include "sing/backend/cuda/team.cuh"

namespace sing::cuda {

// Takes items in their order, one at a time. A ticket can be drawn while the last pack of an item
// is worked on. Not earlier: it lies until its warp is free, and those who wait for its item wait
// for both. Never before the item at hand has nothing to wait for any more: then whoever holds the
// oldest unfinished item is at work, and no one waits for ever.
class ItemQueue {
 public:
  __device__ __forceinline__ explicit ItemQueue(const StepArguments& step) : step_(step) {}

  // The first tickets of a block's warps at once: all warps of the device would queue up for the
  // counter. With static shared memory for it a step took 11 % longer, presumably because the
  // staged words then begin 16 bytes off a multiple of 128.
  __device__ __forceinline__ void draw_by_block() {
    extern __shared__ uint4 room[];
    auto* first = reinterpret_cast<unsigned long long*>(room);
    if (threadIdx.x == 0) {
      *first = atomicAdd(&step_.queue->next, static_cast<unsigned long long>(kStepWarps));
    }
    __syncthreads();
    ticket_ = *first + threadIdx.x / 32;
    drawn_ = true;
    __syncthreads();  // before the room is used for what it is for
  }

  // Asks for a ticket, unless that is done. Lane 0 alone knows of it until the item is taken.
  __device__ __forceinline__ void draw() {
    if (!drawn_ && warp_team().rank == 0) {
      ticket_ = atomicAdd(&step_.queue->next, 1ULL);
    }
    drawn_ = true;
  }

  // The next item; its tensor is kNoTensor when there is none.
  __device__ __forceinline__ WorkItem take() {
    draw();
    drawn_ = false;
    const std::int64_t taken =
        step_.item_begin + static_cast<std::int64_t>(__shfl_sync(kFullWarp, ticket_, 0));
    if (taken >= step_.item_end) {
      return {.tensor = kNoTensor, .work = Work::kMeasure, .elements = 0, .index = 0};
    }
    return read_record(step_.items + taken);
  }

 private:
  const StepArguments& step_;
  unsigned long long ticket_ = 0;
  bool drawn_ = false;
};

}  // namespace sing::cuda
