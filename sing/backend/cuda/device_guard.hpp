// Makes one CUDA device current for a scope.
#pragma once

#include "sing/backend/cuda/cuda_check.hpp"

namespace sing::cuda {

class DeviceGuard {
 public:
  explicit DeviceGuard(int device) : device_(device) {
    check(cudaGetDevice(&previous_), "to read the current device");
    if (previous_ != device_) {
      check(cudaSetDevice(device_), "to select a device");
    }
  }
  ~DeviceGuard() {
    if (previous_ != device_) {
      cudaSetDevice(previous_);
    }
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int device_;
  int previous_ = 0;
};

}  // namespace sing::cuda
