// Records and replays a graph with LibTorch's CUDAGraph.
#include "lab/loop/step_graph.hpp"

#include <ATen/cuda/CUDAGraph.h>

namespace sing::lab::loop {
namespace {

class CudaStepGraph final : public StepGraph {
 public:
  void record(const std::function<void()>& work) override {
    // Other threads may allocate pinned memory for the next batches during the capture.
    graph_.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    try {
      work();
    } catch (...) {
      graph_.capture_end();
      throw;
    }
    graph_.capture_end();
  }

  void replay() override { graph_.replay(); }

 private:
  at::cuda::CUDAGraph graph_;
};

}  // namespace

std::unique_ptr<StepGraph> make_step_graph() { return std::make_unique<CudaStepGraph>(); }

}  // namespace sing::lab::loop
