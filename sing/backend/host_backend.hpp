// The part of a backend that all backends in host memory have in common.
#pragma once

#include <cstring>

#include "sing/backend/backend.hpp"

namespace sing {

// A backend whose memory the host reads and writes directly, and whose steps are over when step()
// returns.
class HostBackend : public Backend {
 public:
  Device device() const override { return {}; }
  bool synchronous() const override { return true; }

  void read(void* host, const void* memory, std::size_t bytes) const override {
    std::memcpy(host, memory, bytes);
  }
  void write(void* memory, const void* host, std::size_t bytes) const override {
    std::memcpy(memory, host, bytes);
  }
};

}  // namespace sing
