// Finds the normalization layers of a model.
#include "lab/model/freeze_norms.hpp"

#include <torch/torch.h>

#include "lab/model/transformer_block.hpp"

namespace sing::lab::model {

void freeze_norms(::torch::nn::Module& model) {
  // A constructor may call this, when the model is not yet in a shared pointer.
  for (const auto& module : model.modules(/*include_self=*/false)) {
    const bool is_norm = module->as<::torch::nn::LayerNorm>() != nullptr ||
                         module->as<::torch::nn::GroupNorm>() != nullptr ||
                         module->as<::torch::nn::BatchNorm1d>() != nullptr ||
                         module->as<::torch::nn::BatchNorm2d>() != nullptr ||
                         module->as<LayerScaleImpl>() != nullptr;
    if (is_norm) {
      for (at::Tensor& parameter : module->parameters(/*recurse=*/false)) {
        parameter.requires_grad_(false);
      }
    }
  }
}

}  // namespace sing::lab::model
