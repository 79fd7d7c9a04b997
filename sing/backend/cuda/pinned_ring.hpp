// Pinned host memory for uploads that are still running when the call that started them returns.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "sing/backend/cuda/cuda_check.hpp"

namespace sing::cuda {

class PinnedBuffer {
 public:
  explicit PinnedBuffer(std::size_t bytes) {
    check(cudaMallocHost(&data_, bytes == 0 ? 1 : bytes),
          std::to_string(bytes) + " bytes of pinned memory");
  }
  ~PinnedBuffer() { cudaFreeHost(data_); }
  PinnedBuffer(PinnedBuffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }

  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

// A few buffers that are used in turn. A buffer is written again only after its last copy has
// finished.
class PinnedRing {
 public:
  PinnedRing() = default;
  explicit PinnedRing(std::size_t bytes) {
    for (int i = 0; i < kBuffers; ++i) {
      entries_.push_back({.buffer = PinnedBuffer(bytes), .copied = nullptr});
      check(cudaEventCreateWithFlags(&entries_.back().copied, cudaEventDisableTiming),
            "to make an event");
    }
  }
  PinnedRing(PinnedRing&& other) noexcept { *this = std::move(other); }
  PinnedRing& operator=(PinnedRing&& other) noexcept {
    std::swap(next_, other.next_);
    entries_.swap(other.entries_);
    return *this;
  }
  ~PinnedRing() {
    for (Entry& entry : entries_) {
      if (entry.copied != nullptr) {
        cudaEventSynchronize(entry.copied);  // a copy may still be reading the buffer
        cudaEventDestroy(entry.copied);
      }
    }
  }

  // Returns memory to fill for a copy; call copied() after starting that copy.
  std::byte* next() {
    next_ = (next_ + 1) % entries_.size();
    check(cudaEventSynchronize(entries_[next_].copied), "to wait for an upload");
    return entries_[next_].buffer.data();
  }
  void copied(cudaStream_t stream) {
    check(cudaEventRecord(entries_[next_].copied, stream), "to record an upload");
  }

 private:
  static constexpr int kBuffers = 8;
  struct Entry {
    PinnedBuffer buffer;
    cudaEvent_t copied = nullptr;
  };

  std::size_t next_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace sing::cuda
