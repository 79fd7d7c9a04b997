// Uses torch's profiler.
#include "lab/bench/trace.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/profiler_kineto.h>

namespace sing::lab::bench {

void write_trace(const std::filesystem::path& file, const c10::Device& device,
                 const std::function<void()>& work) {
  namespace profiler = ::torch::autograd::profiler;
  using ::torch::profiler::impl::ActivityType;
  const ::torch::profiler::impl::ProfilerConfig config(
      ::torch::profiler::impl::ProfilerState::KINETO);
  std::set<ActivityType> activities = {ActivityType::CPU};
  if (device.is_cuda()) {
    activities.insert(ActivityType::CUDA);
  }
  profiler::prepareProfiler(config, activities);
  profiler::enableProfiler(config, activities, {at::RecordScope::FUNCTION});
  work();
  if (!device.is_cpu()) {
    c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
  }
  profiler::disableProfiler()->save(file.string());
}

}  // namespace sing::lab::bench
