// Pinned host memory for uploads that outlive the call that starts them.
#pragma once

#include <cstdint>
#include <vector>

#include "sing/backend/cuda/device_buffer.hpp"

namespace sing::cuda {

// A few buffers used in turn; a buffer is written again only when its last copy has finished.
class PinnedRing {
 public:
  PinnedRing() = default;
  explicit PinnedRing(std::size_t bytes) {
    for (int i = 0; i < kSlots; ++i) {
      slots_.push_back({.buffer = PinnedBuffer(bytes), .copied = nullptr});
      check(cudaEventCreateWithFlags(&slots_.back().copied, cudaEventDisableTiming),
            "making an event");
    }
  }
  PinnedRing(PinnedRing&& other) noexcept { *this = std::move(other); }
  PinnedRing& operator=(PinnedRing&& other) noexcept {
    std::swap(next_, other.next_);
    slots_.swap(other.slots_);
    return *this;
  }
  ~PinnedRing() {
    for (Slot& slot : slots_) {
      if (slot.copied != nullptr) {
        // A copy may still be reading.
        cudaEventSynchronize(slot.copied);
        cudaEventDestroy(slot.copied);
      }
    }
  }

  // Memory to fill for a copy; call copied() after the copy was started.
  std::byte* next() {
    next_ = (next_ + 1) % slots_.size();
    check(cudaEventSynchronize(slots_[next_].copied), "waiting for an upload");
    return slots_[next_].buffer.data();
  }
  void copied(cudaStream_t stream) {
    check(cudaEventRecord(slots_[next_].copied, stream), "recording an upload");
  }

 private:
  static constexpr int kSlots = 8;
  struct Slot {
    PinnedBuffer buffer;
    cudaEvent_t copied = nullptr;
  };

  std::size_t next_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace sing::cuda
