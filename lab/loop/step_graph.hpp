// Records work on a GPU's current stream once and replays it with one call.
#pragma once

#include <functional>
#include <memory>

namespace sing::lab::loop {

class StepGraph {
 public:
  virtual ~StepGraph() = default;
  // Calls `work` once. Its operations on the current stream, which must not be the default one, are
  // recorded and not run. Tensors that it makes keep their memory as long as the graph lives.
  virtual void record(const std::function<void()>& work) = 0;
  virtual void replay() = 0;
};

std::unique_ptr<StepGraph> make_step_graph();

}  // namespace sing::lab::loop
