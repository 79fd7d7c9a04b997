// Centralizes and normalizes gradients alone: before any other optimizer, or to look at them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sing/optim/optimizer.hpp"

namespace sing {

struct StandardizeTensor {
  std::string name = {};  // for messages; empty: its position in the list
  std::vector<std::int64_t> shape = {};
  std::vector<std::int64_t> strides = {};  // as those of a Parameter
  Dtype dtype = Dtype::kFloat32;
  const void* gradient = nullptr;
  // Of the same shape, strides and type: the gradient itself, or memory apart from it.
  void* destination = nullptr;
};

// Keeps its work plan from call to call while the list's shapes and types stay the same. A tensor
// whose gradient is skipped as non-finite leaves its destination as it was.
class Standardizer {
 public:
  // Without a backend: CPU, all cores.
  explicit Standardizer(const Standardize& options, std::shared_ptr<Backend> backend = nullptr,
                        NonFinite non_finite = NonFinite::kSkipTensor);

  // A tensor listed twice is standardized once. Asynchronous backends return before it is done.
  void run(std::span<const StandardizeTensor> tensors, double loss_scale = 1);

  // Norms of the last list's gradients as given, loss scale removed.
  std::vector<double> gradient_norms() const;
  // As Optimizer::status(): counts over all calls with lists alike.
  OptimizerProgress status();
  Backend& backend() { return *backend_; }

 private:
  bool fits(std::span<const StandardizeTensor> tensors,
            const std::vector<std::size_t>& slots) const;

  std::shared_ptr<Backend> backend_;
  Options options_;
  std::optional<Optimizer> optimizer_;
  std::vector<StandardizeTensor> tensors_;  // of the last list, each once
  std::vector<std::size_t> slots_;          // of each tensor of the last list in tensors_
};

// One call without anything kept; returns the gradients' norms.
std::vector<double> standardize(std::span<const StandardizeTensor> tensors,
                                const Standardize& options = {},
                                std::shared_ptr<Backend> backend = nullptr,
                                NonFinite non_finite = NonFinite::kSkipTensor,
                                double loss_scale = 1);

}  // namespace sing
