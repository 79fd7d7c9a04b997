// Reads the host's clock and the device's events.
#include "lab/loop/phase_timer.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace sing::lab::loop {
namespace {

double seconds_between(std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

c10::Event timed_event(const c10::Device& device) {
  return c10::Event(device.type(), c10::EventFlag::BACKEND_DEFAULT);
}

}  // namespace

void PhaseTimer::step_begins() {
  host_[0] = Clock::now();
  if (!device_.is_cpu()) {
    marks_.push_back({timed_event(device_), timed_event(device_), timed_event(device_)});
  }
}

void PhaseTimer::mark(std::size_t place) {
  host_[place + 1] = Clock::now();
  if (!device_.is_cpu()) {
    marks_.back()[place].record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  }
}

void PhaseTimer::data_ready() { mark(0); }

void PhaseTimer::gradients_ready() { mark(1); }

void PhaseTimer::step_ends() {
  mark(2);
  ++steps_;
  sum_.data += seconds_between(host_[0], host_[1]);
  if (device_.is_cpu()) {
    sum_.forward_backward += seconds_between(host_[1], host_[2]);
    sum_.optimizer += seconds_between(host_[2], host_[3]);
  }
}

PhaseSeconds PhaseTimer::take_means() {
  constexpr double kMillisecond = 1e-3;
  for (const Marks& marks : marks_) {
    marks[2].synchronize();
    sum_.forward_backward += kMillisecond * marks[0].elapsedTime(marks[1]);
    sum_.optimizer += kMillisecond * marks[1].elapsedTime(marks[2]);
  }
  const double steps = steps_ > 0 ? static_cast<double>(steps_) : 1;
  const PhaseSeconds means = {sum_.data / steps, sum_.forward_backward / steps,
                              sum_.optimizer / steps};
  marks_.clear();
  sum_ = {};
  steps_ = 0;
  return means;
}

}  // namespace sing::lab::loop
