// Lets a thread that captures a graph do work that must not become part of it.
#pragma once

#include "sing/backend/cuda/cuda_check.hpp"

namespace sing::cuda {

// While it exists, the thread may make calls that a capture otherwise forbids. They do not become
// part of the graph.
class RelaxedCapture {
 public:
  RelaxedCapture() {
    check(cudaThreadExchangeStreamCaptureMode(&mode_), "to relax a graph capture");
  }
  ~RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  // The mode that the next exchange sets: relaxed, then the thread's own again.
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// A stream that does not synchronize with the default stream.
class SideStream {
 public:
  SideStream() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "to make a stream");
  }
  ~SideStream() { cudaStreamDestroy(stream_); }
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace sing::cuda
