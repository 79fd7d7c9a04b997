// Measures the phases of a training step with the host's clock or the device's.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <vector>

namespace sing::lab::loop {

struct PhaseSeconds {
  double data = 0;
  double forward_backward = 0;
  double optimizer = 0;
};

// An asynchronous device is timed with events, so that nothing waits for it until the means are
// read. Waiting for data is always timed with the host's clock.
class PhaseTimer {
 public:
  explicit PhaseTimer(const c10::Device& device) : device_(device) {}

  void step_begins();
  void data_ready();
  void gradients_ready();
  void step_ends();

  // Returns the means per step since the last call. Waits for the device.
  PhaseSeconds take_means();

 private:
  using Clock = std::chrono::steady_clock;
  using Marks = std::array<c10::Event, 3>;  // data, gradients, end

  void mark(std::size_t place);

  c10::Device device_;
  std::array<Clock::time_point, 4> host_;  // begin, data, gradients, end
  std::vector<Marks> marks_;
  PhaseSeconds sum_;
  std::size_t steps_ = 0;
};

}  // namespace sing::lab::loop
