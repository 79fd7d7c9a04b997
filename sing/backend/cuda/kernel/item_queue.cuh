// A warp's way through the items of a launch.
#pragma once

#include "sing/backend/cuda/kernel/team.cuh"

namespace sing::cuda {

// Takes items in their order, one at a time. A ticket can be drawn while the last pack of an item
// is worked on. Not earlier: it lies until its warp is free, and those who wait for its item wait
// for both. Never before the item at hand has nothing to wait for any more: then whoever holds the
// oldest unfinished item is at work, and no one waits for ever.
class ItemQueue {
 public:
  // `first`: the warp's first ticket.
  __device__ __forceinline__ ItemQueue(const StepArguments& step, unsigned long long first)
      : step_(step), ticket_(first), state_(State::kDrawn) {}

  // Asks for a ticket, unless that is done. Lane 0 alone knows of it, and of the item.
  __device__ __forceinline__ void draw() {
    if (state_ == State::kNone && warp_team().rank == 0) {
      ticket_ = atomicAdd(&step_.queue->next, 1ULL);
      state_ = State::kDrawn;
    }
  }

  // The next item, known to all lanes; its tensor is kNoTensor when there is none.
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
    if (state_ == State::kDrawn && warp_team().rank == 0) {
      const std::int64_t taken = step_.item_begin + static_cast<std::int64_t>(ticket_);
      item_ = taken < step_.item_end ? __ldg(reinterpret_cast<const uint4*>(step_.items) + taken)
                                     : uint4{kNoTensor, 0, 0, 0};
      state_ = State::kRead;
    }
  }

  const StepArguments& step_;
  unsigned long long ticket_;
  // A simpler class, without a state and with the item read by all lanes, went with steps that took
  // 1 % longer; the loops were the same, and the cause is not known.
  uint4 item_{};
  State state_;
};

}  // namespace sing::cuda
