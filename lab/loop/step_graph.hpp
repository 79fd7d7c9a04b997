// Records work on a GPU's current stream once and replays it with one call.
#pragma once

#include <functional>
#include <memory>

namespace sing::lab::loop {

class StepGraph {
 public:
  virtual ~StepGraph() = default;
  // Calls `work` once. Its operations on the current stream, which must not be the default one, are
  // recorded and not run. The memory of tensors that it makes is kept as long as the graph lives,
  // or one that shares its memory.
  virtual void record(const std::function<void()>& work) = 0;
  virtual void replay() = 0;
};

// The graph may use the memory of `other`, which has been recorded: what one of them has computed
// is lost when the other one is replayed.
std::unique_ptr<StepGraph> make_step_graph(const StepGraph* other = nullptr);

}  // namespace sing::lab::loop
