// The operator that standardizes a list of gradients without an optimizer.
#pragma once

#include "adapters/torch/operators/torch_memory.hpp"

namespace sing::operators {

// Writes the standardized gradients into `destinations`, which may be the gradients; all
// contiguous, on one device. Norms of the gradients as given, or nothing: reading them waits for
// the device.
std::vector<double> standardize(const std::vector<Tensor>& gradients,
                                const std::vector<Tensor>& destinations,
                                const std::string& options_json, double loss_scale,
                                std::int64_t stream, bool wants_norms);

}  // namespace sing::operators
