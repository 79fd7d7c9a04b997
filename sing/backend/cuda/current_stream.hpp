// The stream that a backend works on, which its caller may change between calls.
#pragma once

#include <functional>
#include <utility>

#include "sing/backend/cuda/cuda_check.hpp"

namespace sing::cuda {

inline bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "to know whether a stream is captured");
  return status != cudaStreamCaptureStatusNone;
}

class CurrentStream {
 public:
  // `current`: asked for the stream before each piece of work; empty: always `stream`.
  CurrentStream(void* stream, std::function<void*()> current)
      : stream_(static_cast<cudaStream_t>(stream)), current_(std::move(current)) {
    check(cudaEventCreateWithFlags(&handover_, cudaEventDisableTiming), "to make an event");
    if (current_) {
      stream_ = static_cast<cudaStream_t>(current_());
    }
  }
  ~CurrentStream() { cudaEventDestroy(handover_); }
  CurrentStream(const CurrentStream&) = delete;
  CurrentStream& operator=(const CurrentStream&) = delete;

  // The stream of the last piece of work.
  cudaStream_t last() const { return stream_; }

  // The stream for the next piece of work. If it differs from the last one, it waits for the work
  // on that one. A captured stream cannot wait for work outside its graph: a caller that captures
  // has synchronized before.
  cudaStream_t next() {
    auto* const wanted = current_ ? static_cast<cudaStream_t>(current_()) : stream_;
    if (wanted != stream_ && !is_capturing(wanted) && !is_capturing(stream_)) {
      check(cudaEventRecord(handover_, stream_), "to leave a stream");
      check(cudaStreamWaitEvent(wanted, handover_, 0), "to continue on another stream");
    }
    stream_ = wanted;
    return stream_;
  }

 private:
  cudaStream_t stream_;
  std::function<void*()> current_;
  cudaEvent_t handover_ = nullptr;
};

}  // namespace sing::cuda
