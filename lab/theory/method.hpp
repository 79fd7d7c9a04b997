// Defines the only function of the library that the checks use: standardizing gradients. Tests
// replace it with a wrong method to see which claims notice.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lab/theory/blocks.hpp"
#include "sing/optim/standardizer.hpp"

namespace sing::lab::theory {

// Writes each tensor's standardized gradient to its destination, like Standardizer::run. It is
// called many times with similar lists.
using StandardizeFunction = std::function<void(std::span<const StandardizeTensor>)>;
using Method = std::function<StandardizeFunction(const Standardize& options)>;

// Returns the library's own method. Without a backend, it uses the CPU backend with one thread.
Method library_method(std::shared_ptr<Backend> backend = nullptr);

// The theory's options have no epsilon in the norm.
constexpr Standardize paper_options() { return {.norm_epsilon = 0}; }
constexpr Standardize normalization_only() { return {.centralize = false, .norm_epsilon = 0}; }
constexpr Standardize centralization_only() { return {.normalize = Normalize::kOff}; }
constexpr Standardize calibrated_options(double reference_size) {
  return {
      .normalize = Normalize::kSizeCalibrated, .norm_epsilon = 0, .reference_size = reference_size};
}

// Standardizes gradients given as one vector of doubles, which is split into tensors in order.
class BlockStandardizer {
 public:
  BlockStandardizer(const Method& method, Shapes shapes, const Standardize& options);

  // The result is valid until the next call.
  const Vector& operator()(const Vector& gradient);

  const Shapes& shapes() const { return shapes_; }

 private:
  Shapes shapes_;
  StandardizeFunction standardize_;
  Vector result_;
  std::vector<StandardizeTensor> tensors_;
};

}  // namespace sing::lab::theory
