// Device memory with an owner.
#pragma once

#include <cstddef>
#include <utility>

#include "sing/backend/cuda/cuda_check.hpp"

namespace sing::cuda {

class DeviceBuffer {
 public:
  DeviceBuffer() = default;

  explicit DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
    check(cudaMalloc(&data_, bytes == 0 ? 1 : bytes),
          std::to_string(bytes) + " bytes of device memory");
  }

  // The memory is zero when this returns, so that any stream may use it first.
  static DeviceBuffer zeroed(std::size_t bytes) {
    DeviceBuffer buffer(bytes);
    check(cudaMemset(buffer.data_, 0, bytes == 0 ? 1 : bytes), "to zero device memory");
    check(cudaStreamSynchronize(nullptr), "to zero device memory");
    return buffer;
  }
  ~DeviceBuffer() { cudaFree(data_); }

  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  // Swaps: `other` frees the old memory.
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::size_t bytes() const { return bytes_; }
  void* release() { return std::exchange(data_, nullptr); }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace sing::cuda
