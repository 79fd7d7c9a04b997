// Implements the denoising network as one sequence of layers.
#include "lab/model/dncnn.hpp"

#include <torch/torch.h>

#include "lab/model/freeze_norms.hpp"

namespace sing::lab::model {
namespace {

// A layer with batch normalization needs no bias.
::torch::nn::Conv2d make_denoising_layer(std::int64_t in, std::int64_t out, bool bias) {
  ::torch::nn::Conv2d layer(::torch::nn::Conv2dOptions(in, out, 3).padding(1).bias(bias));
  ::torch::nn::init::kaiming_normal_(layer->weight, 0, ::torch::kFanIn, ::torch::kReLU);
  if (bias) {
    ::torch::nn::init::zeros_(layer->bias);
  }
  return layer;
}

}  // namespace

struct DncnnImpl::Parts {
  ::torch::nn::Sequential layers;
};

DncnnImpl::DncnnImpl(const DncnnOptions& options, std::int64_t channels)
    : parts_(std::make_unique<Parts>()) {
  ::torch::nn::Sequential& layers = parts_->layers;
  layers->push_back(make_denoising_layer(channels, options.width, /*bias=*/true));
  layers->push_back(::torch::nn::ReLU());
  for (std::int64_t layer = 2; layer < options.depth; ++layer) {
    layers->push_back(make_denoising_layer(options.width, options.width, /*bias=*/false));
    layers->push_back(::torch::nn::BatchNorm2d(options.width));
    layers->push_back(::torch::nn::ReLU());
  }
  layers->push_back(make_denoising_layer(options.width, channels, /*bias=*/true));
  register_module("layers", layers);
  if (options.freeze_norms) {
    freeze_norms(*this);
  }
}

DncnnImpl::~DncnnImpl() = default;

at::Tensor DncnnImpl::forward(const at::Tensor& images) { return parts_->layers->forward(images); }

}  // namespace sing::lab::model
