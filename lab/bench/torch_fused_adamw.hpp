// Takes the steps of torch.optim.AdamW(fused=True), which LibTorch's own class cannot do.
#pragma once

#include <torch/torch.h>

#include <vector>

namespace sing::lab::bench {

class TorchFusedAdamW {
 public:
  explicit TorchFusedAdamW(std::vector<at::Tensor> parameters)
      : parameters_(std::move(parameters)) {
    for (const at::Tensor& parameter : parameters_) {
      first_moments_.push_back(at::zeros_like(parameter));
      second_moments_.push_back(at::zeros_like(parameter));
      counters_.push_back(at::zeros({}, parameter.options().dtype(at::kFloat)));
    }
  }

  void step() {
    const at::NoGradGuard no_gradient;
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& parameter : parameters_) {
      gradients.push_back(parameter.grad());
    }
    at::_foreach_add_(counters_, 1);
    at::_fused_adamw_(parameters_, gradients, first_moments_, second_moments_,
                      /*max_exp_avg_sqs=*/{}, counters_,
                      /*lr=*/1e-3,
                      /*beta1=*/0.9,
                      /*beta2=*/0.999,
                      /*weight_decay=*/5e-2,
                      /*eps=*/1e-8,
                      /*amsgrad=*/false,
                      /*maximize=*/false);
  }

 private:
  std::vector<at::Tensor> parameters_, first_moments_, second_moments_, counters_;
};

}  // namespace sing::lab::bench
