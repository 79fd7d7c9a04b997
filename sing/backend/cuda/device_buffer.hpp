// Owning memory: on a device, and pinned on the host.
#pragma once

#include <cstddef>
#include <utility>

#include "sing/backend/cuda/cuda_check.hpp"

namespace sing::cuda {

class DeviceBuffer {
 public:
  DeviceBuffer() = default;

  // Zeroed before the constructor returns, whatever stream uses it first.
  explicit DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
    const std::size_t asked = bytes == 0 ? 1 : bytes;
    check(cudaMalloc(&data_, asked), concat("wanted ", bytes, " bytes of device memory"));
    const cudaError_t status = clear(asked);
    if (status != cudaSuccess) {
      cudaFree(data_);
      check(status, "zeroing device memory");
    }
  }
  ~DeviceBuffer() { cudaFree(data_); }

  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::size_t bytes() const { return bytes_; }
  void* release() { return std::exchange(data_, nullptr); }

 private:
  cudaError_t clear(std::size_t bytes) const {
    const cudaError_t status = cudaMemset(data_, 0, bytes);
    return status == cudaSuccess ? cudaStreamSynchronize(nullptr) : status;
  }

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(std::size_t bytes) {
    check(cudaMallocHost(&data_, bytes == 0 ? 1 : bytes),
          concat("wanted ", bytes, " bytes of pinned memory"));
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

}  // namespace sing::cuda
