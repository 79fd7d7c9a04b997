// Work on a GPU's current stream, recorded once and replayed with one call.
#pragma once

#include <functional>
#include <memory>

namespace sing::lab::loop {

class StepGraph {
 public:
  virtual ~StepGraph() = default;
  // Calls `work` once; what it puts on the current stream, which must not be the default one, is
  // recorded and not run. Tensors it makes keep their memory as long as the graph lives.
  virtual void record(const std::function<void()>& work) = 0;
  virtual void replay() = 0;
};

std::unique_ptr<StepGraph> make_step_graph();

}  // namespace sing::lab::loop
