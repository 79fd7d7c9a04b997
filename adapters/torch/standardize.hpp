// Centralized and normalized gradients for any other torch::optim optimizer.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "adapters/torch/parameters.hpp"
#include "sing/base/device.hpp"
#include "sing/optim/standardizer.hpp"

namespace sing::torch {

// Keeps its work plans from call to call. Gradients that are skipped as non-finite stay as they
// are.
class Standardizer {
 public:
  explicit Standardizer(const Standardize& options = {},
                        NonFinite non_finite = NonFinite::kSkipTensor);

  // Replaces the gradients of the parameters; those without one are left out.
  void standardize_(const Parameters& parameters, double loss_scale = 1);
  // Replaces tensors that are gradients themselves.
  void standardize_gradients_(const Parameters& gradients, double loss_scale = 1);

  // Norms of the last call's gradients by name, before standardizing, loss scale removed.
  std::vector<std::pair<std::string, double>> gradient_norms() const;

 private:
  struct OnDevice {
    Device device;
    sing::Standardizer standardizer;
    std::vector<std::string> names;  // those of the last call
  };
  OnDevice& on_device(const Device& device);

  Options options_;
  NonFinite non_finite_;
  std::vector<OnDevice> devices_;
};

// The same without a work plan that is kept.
void standardize_(const Parameters& parameters, const Standardize& options = {});

// Standardized copies.
std::vector<at::Tensor> standardized(const Parameters& gradients, const Standardize& options = {});

}  // namespace sing::torch
