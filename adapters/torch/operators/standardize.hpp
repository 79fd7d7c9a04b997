// The operator that standardizes a list of gradients without an optimizer.
#pragma once

#include <tuple>

#include "adapters/torch/operators/torch_memory.hpp"

namespace sing::operators {

// The norm of each gradient as it was given, and 1 where it was finite, else 0.
using NormsAndFlags = std::tuple<std::vector<double>, std::vector<std::int64_t>>;

// Writes the standardized gradients into `destinations`, which may be the gradients themselves:
// dense tensors in any order of their axes, all on one device. Reading norms and flags waits for
// the device; two empty lists if they are not wanted. Shards as in add_group(); `sum_shards` is the
// address of a SumFunction or, for tensors on a CUDA device, of a SumOnDeviceFunction.
NormsAndFlags standardize(const std::vector<Tensor>& gradients,
                          const std::vector<Tensor>& destinations, const std::string& shards_json,
                          std::int64_t sum_shards, const std::string& options_json,
                          double loss_scale, std::int64_t stream, bool wants_norms);

}  // namespace sing::operators
