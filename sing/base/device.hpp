// Where a tensor's memory lives.
#pragma once

#include <cstdint>
#include <ostream>

namespace sing {

enum class DeviceType : std::int32_t { kCpu, kCuda };

struct Device {
  DeviceType type = DeviceType::kCpu;
  std::int32_t index = 0;  // of a CUDA device; 0 for the CPU
  bool operator==(const Device&) const = default;
};

inline std::ostream& operator<<(std::ostream& stream, const Device& device) {
  if (device.type == DeviceType::kCpu) {
    return stream << "cpu";
  }
  return stream << "cuda:" << device.index;
}

}  // namespace sing
