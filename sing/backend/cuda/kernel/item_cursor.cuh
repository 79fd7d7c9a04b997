// A warp's way through the items of a launch.
#pragma once

#include "sing/backend/cuda/kernel/threads.cuh"

namespace sing::cuda {

// Takes items from the queue, one at a time. A ticket is the number of an item of the launch; it is
// drawn from QueueState::next and belongs to the warp that drew it. The next ticket may be drawn
// while the last pack of an item is updated. It is not drawn earlier, because other warps may be
// waiting for its item while this warp is busy. It is never drawn before the current item has
// stopped waiting: then the warp that holds the oldest unfinished item is never waiting, and there
// is no deadlock.
class ItemCursor {
 public:
  // `first`: the warp's first ticket.
  __device__ __forceinline__ ItemCursor(const StepArguments& step, unsigned long long first)
      : step_(step), ticket_(first), state_(State::kDrawn) {}

  // Draws a ticket unless the warp has one. Only lane 0 holds the ticket and the item.
  __device__ __forceinline__ void draw() {
    if (state_ == State::kNone && lane_id() == 0) {
      ticket_ = atomicAdd(&step_.queue->next, 1ULL);
      state_ = State::kDrawn;
    }
  }

  // The next item, in all lanes; its tensor is kNoTensor at the end of the queue.
  __device__ __forceinline__ WorkItem take() {
    draw();
    read();
    state_ = State::kNone;
    const uint4 words{__shfl_sync(kFullWarp, item_.x, 0), __shfl_sync(kFullWarp, item_.y, 0),
                      __shfl_sync(kFullWarp, item_.z, 0), __shfl_sync(kFullWarp, item_.w, 0)};
    WorkItem item;
    memcpy(&item, &words, sizeof(item));
    return item;
  }

 private:
  enum class State { kNone, kDrawn, kRead };

  __device__ __forceinline__ void read() {
    if (state_ == State::kDrawn && lane_id() == 0) {
      const std::int64_t taken = step_.item_begin + static_cast<std::int64_t>(ticket_);
      item_ = taken < step_.item_end ? __ldg(reinterpret_cast<const uint4*>(step_.items) + taken)
                                     : uint4{kNoTensor, 0, 0, 0};
      state_ = State::kRead;
    }
  }

  const StepArguments& step_;
  unsigned long long ticket_;
  // A simpler version, without a state and with the item read by all lanes, made the step 1 %
  // slower. The hot loops were the same; the cause is not known.
  uint4 item_{};
  State state_;
};

}  // namespace sing::cuda
