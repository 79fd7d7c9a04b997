// Replaces step_graph.cpp in a build without CUDA, which cannot record graphs.
#include "lab/loop/step_graph.hpp"
#include "sing/base/error.hpp"

namespace sing::lab::loop {

std::unique_ptr<StepGraph> make_step_graph(const StepGraph* /*other*/) {
  throw Error("[training] wanted a build with CUDA (SING_CUDA=ON), got one without");
}

}  // namespace sing::lab::loop
