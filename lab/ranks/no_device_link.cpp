// Replaces nccl_link.cpp in a program built without NCCL.
#include "lab/ranks/device_link.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::ranks {

std::unique_ptr<DeviceLink> make_device_link(const at::Device& device, int /*rank*/, int count,
                                             const ShareBytes& /*share*/) {
  throw std::invalid_argument(fmt::format(
      "[ranks] wanted a program built with NCCL to train with {} processes on {}, got one without; "
      "NCCL comes with torch's nvidia-nccl package: build the program again with CUDA, or train "
      "with --device cpu",
      count, device.str()));
}

}  // namespace sing::lab::ranks
