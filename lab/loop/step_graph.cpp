// Records and replays a graph with LibTorch's CUDAGraph.
#include "lab/loop/step_graph.hpp"

#include <ATen/cuda/CUDAGraph.h>

namespace sing::lab::loop {
namespace {

class CudaStepGraph final : public StepGraph {
 public:
  explicit CudaStepGraph(at::cuda::MempoolId_t pool) : pool_(pool) {}

  void record(const std::function<void()>& work) override {
    // Other threads may allocate pinned memory for the next batches during the capture.
    graph_.capture_begin(pool_, cudaStreamCaptureModeThreadLocal);
    try {
      work();
    } catch (...) {
      graph_.capture_end();
      throw;
    }
    graph_.capture_end();
    pool_ = graph_.pool();
  }

  void replay() override { graph_.replay(); }

  const at::cuda::MempoolId_t& pool() const { return pool_; }

 private:
  at::cuda::CUDAGraph graph_;
  at::cuda::MempoolId_t pool_;  // {0, 0} before the recording of a graph with memory of its own
};

}  // namespace

std::unique_ptr<StepGraph> make_step_graph(const StepGraph* other) {
  return std::make_unique<CudaStepGraph>(other != nullptr
                                             ? dynamic_cast<const CudaStepGraph&>(*other).pool()
                                             : at::cuda::MempoolId_t{0, 0});
}

}  // namespace sing::lab::loop
