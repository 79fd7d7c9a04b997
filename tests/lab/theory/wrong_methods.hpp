// Defines methods that differ from the library's, which the checks of the theory must notice.
#pragma once

#include <cmath>

#include "lab/theory/method.hpp"
#include "sing/base/element_access.hpp"

namespace sing::test {

inline void multiply(std::span<const StandardizeTensor> tensors, double factor) {
  for (const StandardizeTensor& tensor : tensors) {
    const auto count = static_cast<std::int64_t>(count_elements(tensor.shape));
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = load_element(tensor.destination, tensor.dtype, i);
      store_element(tensor.destination, tensor.dtype, i, factor * value);
    }
  }
}

inline double norm_of_all(std::span<const StandardizeTensor> tensors) {
  double squares = 0;
  for (const StandardizeTensor& tensor : tensors) {
    const auto count = static_cast<std::int64_t>(count_elements(tensor.shape));
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = load_element(tensor.destination, tensor.dtype, i);
      squares += value * value;
    }
  }
  return std::sqrt(squares);
}

inline lab::theory::Method without_centralization() {
  return [](Standardize options) {
    options.centralize = false;
    return lab::theory::library_method()(options);
  };
}

// Uses one norm for all tensors together, as normalized gradient descent does.
inline lab::theory::Method with_global_norm() {
  return [](Standardize options) -> lab::theory::StandardizeFunction {
    const bool normalizes = options.normalize != Normalize::kOff;
    options.normalize = Normalize::kOff;
    return [normalizes, epsilon = options.norm_epsilon,
            centralize = lab::theory::library_method()(options)](
               std::span<const StandardizeTensor> tensors) {
      centralize(tensors);
      const double size = norm_of_all(tensors);
      if (normalizes && size > 0) {
        multiply(tensors, 1 / (size + epsilon));
      }
    };
  };
}

// Scales as if the standardized gradient had length 1 and not √D.
inline lab::theory::Method with_length_one() {
  return [](const Standardize& options) -> lab::theory::StandardizeFunction {
    return [normalizes = options.normalize != Normalize::kOff,
            standardize = lab::theory::library_method()(options)](
               std::span<const StandardizeTensor> tensors) {
      standardize(tensors);
      if (normalizes) {
        multiply(tensors, 1 / std::sqrt(static_cast<double>(tensors.size())));
      }
    };
  };
}

// Adds an epsilon to the norm although none was requested.
inline lab::theory::Method with_epsilon() {
  return [](Standardize options) {
    options.norm_epsilon = 1e-8;
    return lab::theory::library_method()(options);
  };
}

}  // namespace sing::test
