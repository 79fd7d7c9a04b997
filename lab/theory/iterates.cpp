// Keeps tensors of the element type and passes them to the method and the host.
#include "lab/theory/iterates.hpp"

#include <utility>

#include "sing/base/element_access.hpp"

namespace sing::lab::theory {
namespace {

using Memory = std::vector<std::vector<std::byte>>;

void store(const IteratesOptions& options, const Vector& values, Memory& memory) {
  std::size_t tensor = 0;
  for_each_block(options.shapes, values, [&](std::span<const double> block, std::size_t) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      store_element(memory[tensor].data(), options.dtype, static_cast<std::int64_t>(i), block[i]);
    }
    ++tensor;
  });
}

Memory allocate(const IteratesOptions& options) {
  Memory memory;
  for (const Shape& shape : options.shapes) {
    memory.emplace_back(count_elements(shape) * size_of(options.dtype));
  }
  return memory;
}

}  // namespace

Iterates::Iterates(const Method& method, IteratesOptions options, const Vector& start)
    : options_(std::move(options)),
      standardize_(method(options_.standardize)),
      parameters_(allocate(options_)),
      gradients_(allocate(options_)) {
  store(options_, start, parameters_);
  std::vector<Parameter> parameters;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters.push_back({.data = parameters_[i].data(),
                          .shape = options_.shapes[i],
                          .dtype = options_.dtype,
                          .gradient = gradients_[i].data()});
  }
  Options host;
  host.standardize = {.centralize = false, .normalize = Normalize::kOff};
  host.rule = options_.host;
  host.lookahead.reset();
  optimizer_ =
      std::make_unique<Optimizer>(std::move(parameters), host, make_cpu_backend({.threads = 1}));
}

void Iterates::step(const Vector& gradient) {
  store(options_, gradient, gradients_);
  std::vector<StandardizeTensor> tensors;
  for (std::size_t i = 0; i < gradients_.size(); ++i) {
    tensors.push_back({.shape = options_.shapes[i],
                       .dtype = options_.dtype,
                       .gradient = gradients_[i].data(),
                       .destination = gradients_[i].data()});
  }
  standardize_(tensors);
  optimizer_->step();
}

Vector Iterates::values() const {
  Vector values;
  for (std::size_t tensor = 0; tensor < parameters_.size(); ++tensor) {
    const std::size_t count = count_elements(options_.shapes[tensor]);
    for (std::size_t i = 0; i < count; ++i) {
      values.push_back(
          load_element(parameters_[tensor].data(), options_.dtype, static_cast<std::int64_t>(i)));
    }
  }
  return values;
}

}  // namespace sing::lab::theory
