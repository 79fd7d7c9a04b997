// Replaces the parameters by their weights for evaluation, and restores them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sing/backend/backend.hpp"

namespace sing {

// The weights for evaluation are the slow weights of LookAhead, or the average that a rule keeps;
// the fast weights are those that steps update.
class WeightSwap {
 public:
  explicit WeightSwap(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}

  bool slow_in_use() const { return slow_in_use_; }

  // `progress` has the counters of each tensor. A tensor without an update keeps its weights.
  void use_slow(std::span<const GroupStep> groups, std::span<const TensorStep> tensors,
                std::span<const TensorProgress> progress);
  // The same tensors as in use_slow().
  void use_fast(std::span<const TensorStep> tensors);

 private:
  void write(const TensorStep& tensor, const void* weights, Dtype dtype);
  void write_average(const TensorStep& tensor, const Blend& average);

  std::shared_ptr<Backend> backend_;
  bool slow_in_use_ = false;
  std::vector<std::shared_ptr<void>> fast_weights_;  // by tensor, while the slow ones are in use
};

}  // namespace sing
