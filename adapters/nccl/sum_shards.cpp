// Copies a vector to the device, adds it up there and copies it back.
#include "adapters/nccl/sum_shards.hpp"

#include <memory>
#include <utility>

#include "sing/base/error.hpp"
#include "sing/base/message.hpp"

namespace sing::nccl {
namespace {

void check_cuda(cudaError_t result, std::string_view call) {
  if (result != cudaSuccess) {
    throw Error(
        fmt::format("[nccl] wanted {} to succeed, got {}", call, cudaGetErrorString(result)));
  }
}

// Makes a communicator's device the current one until it is destroyed.
class DeviceGuard {
 public:
  explicit DeviceGuard(ncclComm_t communicator) {
    int device = 0;
    check(ncclCommCuDevice(communicator, &device), "ncclCommCuDevice");
    check_cuda(cudaGetDevice(&before_), "cudaGetDevice");
    check_cuda(cudaSetDevice(device), "cudaSetDevice");
  }
  ~DeviceGuard() { cudaSetDevice(before_); }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int before_ = 0;
};

// Device memory that grows to the longest vector.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  ~DeviceBuffer() { cudaFree(values_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  double* at_least(std::size_t count) {
    if (count > count_) {
      check_cuda(cudaFree(std::exchange(values_, nullptr)), "cudaFree");
      count_ = 0;
      void* memory = nullptr;
      check_cuda(cudaMalloc(&memory, count * sizeof(double)), "cudaMalloc");
      values_ = static_cast<double*>(memory);
      count_ = count;
    }
    return values_;
  }

 private:
  double* values_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace

void check(ncclResult_t result, std::string_view call) {
  if (result != ncclSuccess) {
    throw Error(
        fmt::format("[nccl] wanted {} to succeed, got {}", call, ncclGetErrorString(result)));
  }
}

SumShards sum_over(std::vector<ncclComm_t> communicators, cudaStream_t stream) {
  const auto buffer = std::make_shared<DeviceBuffer>();
  return [communicators = std::move(communicators), stream, buffer](std::span<double> values,
                                                                    std::int32_t sum_group) {
    SING_CHECK(sum_group >= 0 && static_cast<std::size_t>(sum_group) < communicators.size(),
               "[nccl] wanted a sum group with one of {} communicators, got group {}",
               communicators.size(), sum_group);
    const ncclComm_t communicator = communicators[static_cast<std::size_t>(sum_group)];
    const DeviceGuard guard(communicator);
    double* const sums = buffer->at_least(values.size());
    check_cuda(
        cudaMemcpyAsync(sums, values.data(), values.size_bytes(), cudaMemcpyHostToDevice, stream),
        "cudaMemcpyAsync");
    check(ncclAllReduce(sums, sums, values.size(), ncclDouble, ncclSum, communicator, stream),
          "ncclAllReduce");
    check_cuda(
        cudaMemcpyAsync(values.data(), sums, values.size_bytes(), cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  };
}

}  // namespace sing::nccl
