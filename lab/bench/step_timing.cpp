// Measures wall-clock times, waiting for the device before and after.
#include "lab/bench/step_timing.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <chrono>

namespace sing::lab::bench {
namespace {

// On a GPU, a graph is recorded at the fourth step of a shape.
constexpr int kGpuWarmUpRounds = 4;

double milliseconds_of(const Contestant& contestant, const c10::Device& device, int steps) {
  using Clock = std::chrono::steady_clock;
  const c10::impl::VirtualGuardImpl guard(device.type());
  const auto wait = [&] {
    if (!device.is_cpu()) {
      guard.synchronizeDevice(device.index());
    }
  };
  wait();
  const auto begin = Clock::now();
  for (int step = 0; step < steps; ++step) {
    contestant.step();
  }
  wait();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count() / steps;
}

}  // namespace

std::vector<StepTiming> time_in_turns(const std::vector<Contestant>& contestants,
                                      const c10::Device& device, int steps, int rounds) {
  std::vector<std::vector<double>> times(contestants.size());
  std::vector<std::vector<double>> ratios(contestants.size());
  for (int round = device.is_cpu() ? -1 : -kGpuWarmUpRounds; round < rounds; ++round) {
    std::vector<double> once;
    for (const Contestant& contestant : contestants) {
      once.push_back(milliseconds_of(contestant, device, steps));
    }
    for (std::size_t i = 0; round >= 0 && i < contestants.size(); ++i) {
      times[i].push_back(once[i]);
      ratios[i].push_back(once[i] / once.front());
    }
  }
  std::vector<StepTiming> result;
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    result.push_back({contestants[i].title, quartiles(times[i]), quartiles(ratios[i])});
  }
  return result;
}

}  // namespace sing::lab::bench
