// Centralizes and normalizes gradients without an update: for other optimizers, or to inspect them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sing/optim/optimizer.hpp"

namespace sing {

struct StandardizeTensor {
  std::string name = {};  // for messages; if empty, its index in the list
  std::vector<std::int64_t> shape = {};
  std::vector<std::int64_t> strides = {};  // as those of a Parameter
  Dtype dtype = Dtype::kFloat32;
  std::optional<Shard> shard = {};  // as that of a Parameter
  const void* gradient = nullptr;
  // The gradient itself, or other memory of the same shape, strides and type.
  void* destination = nullptr;
};

// Keeps its work plan between calls as long as the shapes and types of the list stay the same. The
// destination of a non-finite gradient that is skipped does not change.
class Standardizer {
 public:
  // Without a backend: CPU, all cores.
  explicit Standardizer(const Standardize& options, std::shared_ptr<Backend> backend = nullptr,
                        NonFinite non_finite = NonFinite::kSkipTensor);

  // A tensor that is listed twice is standardized once. Asynchronous backends return before they
  // have finished.
  void run(std::span<const StandardizeTensor> tensors, double loss_scale = 1);

  // See Optimizer's functions of these names.
  void set_sum_shards(SumShards sum_shards);
  void set_sum_shards_on_device(SumShardsOnDevice sum_shards);

  // Norms of the last list's gradients before standardizing, loss scale removed.
  std::vector<double> gradient_norms() const;
  // Like Optimizer::status(), counted over all calls with lists of the same shapes and types.
  OptimizerProgress status();
  Backend& backend() { return *backend_; }

 private:
  bool fits(std::span<const StandardizeTensor> tensors,
            const std::vector<std::size_t>& slots) const;

  std::shared_ptr<Backend> backend_;
  Options options_;
  SumShards sum_shards_;
  SumShardsOnDevice sum_shards_on_device_;
  std::optional<Optimizer> optimizer_;
  std::vector<StandardizeTensor> tensors_;  // the last list without repeated listings
  std::vector<std::size_t> slots_;          // index in tensors_ of each tensor of the last list
};

// Standardizes once, without a plan that is kept. Returns the gradients' norms.
std::vector<double> standardize(std::span<const StandardizeTensor> tensors,
                                const Standardize& options = {},
                                std::shared_ptr<Backend> backend = nullptr,
                                NonFinite non_finite = NonFinite::kSkipTensor,
                                double loss_scale = 1);

}  // namespace sing
