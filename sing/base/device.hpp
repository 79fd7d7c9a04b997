// The device that holds a tensor's memory.
#pragma once

#include <cstdint>
#include <string>

namespace sing {

enum class DeviceType : std::int32_t { kCpu, kCuda };

struct Device {
  DeviceType type = DeviceType::kCpu;
  std::int32_t index = 0;  // number of the CUDA device; 0 for the CPU
  bool operator==(const Device&) const = default;
};

// "cpu" or "cuda:1".
inline std::string name_of(const Device& device) {
  return device.type == DeviceType::kCpu ? "cpu" : "cuda:" + std::to_string(device.index);
}

}  // namespace sing
