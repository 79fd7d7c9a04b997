// Declares how ranks exchange tensors that are on GPUs.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <span>

namespace sing::lab::ranks {

// Its functions are those of Ranks. They do not wait for the device.
class DeviceLink {
 public:
  virtual ~DeviceLink() = default;
  virtual void sum(const at::Tensor& values) = 0;
  virtual void broadcast(const at::Tensor& values, int from) = 0;
};

// Replaces bytes by those of rank 0.
using ShareBytes = std::function<void(std::span<std::byte>)>;

// Connects the GPUs of all ranks by NCCL; all ranks call it. Throws std::invalid_argument in a
// program without NCCL.
std::unique_ptr<DeviceLink> make_device_link(const at::Device& device, int rank, int count,
                                             const ShareBytes& share);

}  // namespace sing::lab::ranks
