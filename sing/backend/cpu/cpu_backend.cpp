// The CPU backend: keeps its plan and its threads from step to step.
#include <algorithm>
#include <optional>
#include <thread>

#include "sing/backend/cpu/state_memory.hpp"
#include "sing/backend/cpu/step_run.hpp"
#include "sing/backend/cpu/thread_pool.hpp"
#include "sing/backend/host_backend.hpp"
#include "sing/backend/plan_key.hpp"
#include "sing/base/message.hpp"

namespace sing {
namespace {

// A thread with fewer elements than this costs more than it saves.
constexpr std::int64_t kElementsPerWorker = std::int64_t{16} * 1024;

int default_threads() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

class CpuBackend final : public HostBackend {
 public:
  explicit CpuBackend(const CpuResources& resources)
      : kernels_(cpu::select_kernels(resources.instruction_set)),
        threads_(resources.threads > 0 ? resources.threads : default_threads()),
        pool_(resources.executor ? 1 : threads_),
        executor_(resources.executor),
        allocator_(resources.allocator),
        multiply_(resources.multiply) {
    if (!executor_) {
      executor_ = [this](int count, const std::function<void(int)>& task) {
        pool_.run(count, task);
      };
    }
  }

  std::shared_ptr<void> allocate(std::size_t bytes) override {
    if (allocator_) {
      return allocator_(bytes);
    }
    return state_memory_.allocate(bytes);
  }

  void convert(void* destination, Dtype destination_dtype, const void* source, Dtype source_dtype,
               std::int64_t count) override {
    kernels_.of(source_dtype).convert(destination, destination_dtype, source, source_dtype, count);
  }

  void blend(void* to, Dtype to_dtype, const Blend& blend, std::int64_t count) override {
    kernels_.of(to_dtype).blend(to, to_dtype, blend, count);
  }

  std::size_t scratch_bytes() const override { return key_ ? run_->bytes() + key_->bytes() : 0; }

  void step(const StepRequest& request) override {
    plan(request);
    const std::int64_t useful = run_->plan().elements / kElementsPerWorker;
    run_->step(request, static_cast<int>(std::clamp<std::int64_t>(useful, 1, threads_)), executor_);
  }

 private:
  void plan(const StepRequest& request) {
    if (key_ && key_->fits(request)) {
      return;
    }
    key_.reset();
    run_ = nullptr;  // its memory is free before the new plan needs some
    run_ = std::make_unique<cpu::StepRun>(cpu::make_plan(request, threads_), kernels_, multiply_);
    key_.emplace(request, AbsentGradients::kLeftOut);
  }

  const cpu::Kernels& kernels_;
  int threads_;
  cpu::ThreadPool pool_;
  Executor executor_;
  Allocator allocator_;
  cpu::StateMemory state_memory_;
  Multiply multiply_;
  std::unique_ptr<cpu::StepRun> run_;
  std::optional<PlanKey> key_;  // describes the plan that run_ carries out
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const CpuResources& resources) {
  SING_CHECK(resources.threads >= 0, "[cpu] wanted 0 threads or more, got {}", resources.threads);
  return std::make_unique<CpuBackend>(resources);
}

}  // namespace sing
