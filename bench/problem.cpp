// Draws the parameters and gradients that the contestants of a model start from.
#include <ATen/CPUGeneratorImpl.h>

#include <utility>

#include "bench/contestant.hpp"

namespace sing::bench {

Problem::Problem(ModelShapes shapes) : model(std::move(shapes)) {
  at::Generator generator = at::detail::createCPUGenerator(1);
  for (const std::vector<std::int64_t>& shape : model.shapes) {
    initial.push_back(at::empty(shape, at::kFloat).normal_(0, 0.02, generator));
    gradients.push_back(at::empty(shape, at::kFloat));
    bfloat16_gradients.push_back(at::empty(shape, at::kBFloat16));
  }
  draw_gradients(0);
}

void Problem::draw_gradients(std::uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(1000 + seed);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    // The mean is large enough that a gradient that is not centralized would be noticed.
    gradients[i].normal_(1e-3, 1e-3, generator);
    bfloat16_gradients[i].copy_(gradients[i]);
  }
}

}  // namespace sing::bench
