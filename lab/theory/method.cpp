// Passes vectors to the library as lists of tensors.
#include "lab/theory/method.hpp"

#include <utility>

namespace sing::lab::theory {

Method library_method(std::shared_ptr<Backend> backend) {
  if (backend == nullptr) {
    backend = make_cpu_backend({.threads = 1});
  }
  return [backend](const Standardize& options) -> StandardizeFunction {
    const auto standardizer = std::make_shared<Standardizer>(options, backend);
    return
        [standardizer](std::span<const StandardizeTensor> tensors) { standardizer->run(tensors); };
  };
}

BlockStandardizer::BlockStandardizer(const Method& method, Shapes shapes,
                                     const Standardize& options)
    : shapes_(std::move(shapes)), standardize_(method(options)), result_(size_of(shapes_)) {
  for (const Shape& shape : shapes_) {
    tensors_.push_back({.shape = shape, .dtype = Dtype::kFloat64});
  }
}

const Vector& BlockStandardizer::operator()(const Vector& gradient) {
  std::size_t at = 0;
  for (StandardizeTensor& tensor : tensors_) {
    tensor.gradient = gradient.data() + at;
    tensor.destination = result_.data() + at;
    at += count_elements(tensor.shape);
  }
  standardize_(tensors_);
  return result_;
}

}  // namespace sing::lab::theory
