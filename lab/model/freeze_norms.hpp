// Keeps normalization layers at their initial values, as the paper advises for SING.
#pragma once

#include <torch/nn/module.h>

namespace sing::lab::model {

// Excludes the parameters of normalization layers and of LayerScale from training.
void freeze_norms(::torch::nn::Module& model);

}  // namespace sing::lab::model
