// Implements the residual network layer by layer.
#include "lab/model/resnet.hpp"

#include <torch/torch.h>

#include <array>
#include <string>
#include <vector>

#include "lab/fused/residual_functions.hpp"

namespace sing::lab::model {
namespace {

struct NamedSize {
  ResnetSize size;
  std::array<std::int64_t, 4> blocks;
};
constexpr std::array<NamedSize, 2> kSizes = {
    {{ResnetSize::kResnet18, {2, 2, 2, 2}}, {ResnetSize::kResnet34, {3, 4, 6, 3}}}};

const NamedSize& find_size(ResnetSize size) { return kSizes[static_cast<std::size_t>(size)]; }

// FFCV does not blur the input of the first convolution.
constexpr std::int64_t kLeastBlurredChannels = 16;

struct ConvolutionShape {
  std::int64_t in, out, size, stride;
};

// A convolution without bias that blurs its input if the stride is above 1. Parameters are named as
// in a plain convolution.
class ConvolutionImpl final : public ::torch::nn::Module {
 public:
  ConvolutionImpl(const ConvolutionShape& shape, bool blurpool)
      : shape_(shape),
        weight_(register_parameter("weight",
                                   ::torch::empty({shape.out, shape.in, shape.size, shape.size}))) {
    ::torch::nn::init::kaiming_normal_(weight_, 0, ::torch::kFanOut, ::torch::kReLU);
    if (blurpool && shape.stride > 1 && shape.in >= kLeastBlurredChannels) {
      const at::Tensor line = ::torch::tensor({1.0F, 2.0F, 1.0F}) / 4;
      filter_ = at::outer(line, line).expand({shape.in, 1, 3, 3}).contiguous();
    }
  }

  at::Tensor forward(const at::Tensor& input) {
    const std::int64_t padding = shape_.size / 2;
    return at::conv2d(filter_.defined() ? blur(input) : input, weight_, {}, shape_.stride, padding);
  }

  at::Tensor fused_forward(const at::Tensor& input, const WeightCopies& copies) {
    return fused::convolution(filter_.defined() ? blur(input) : input, copies.of(weight_),
                              {.stride = shape_.stride, .padding = shape_.size / 2});
  }

  const at::Tensor& weight() const { return weight_; }

 private:
  at::Tensor blur(const at::Tensor& input) {
    if (filter_.device() != input.device() || filter_.scalar_type() != weight_.scalar_type()) {
      filter_ = filter_.to(input.device(), weight_.scalar_type());
    }
    return at::conv2d(input, filter_, {}, 1, 1, 1, shape_.in);
  }

  ConvolutionShape shape_;
  at::Tensor weight_;
  at::Tensor filter_;  // [in, 1, 3, 3] or undefined; not a buffer, as torchvision has none
};
using Convolution = ::torch::nn::ModuleHolder<ConvolutionImpl>;

fused::BatchNormParameters parameters_of(const ::torch::nn::BatchNorm2d& norm) {
  return {.gain = norm->weight,
          .shift = norm->bias,
          .running_mean = norm->running_mean,
          .running_variance = norm->running_var,
          .batches = norm->num_batches_tracked,
          .momentum = *norm->options.momentum(),
          .epsilon = norm->options.eps()};
}

// Value passed from block to block: one copy for the convolution and one for the shortcut, so that
// their gradients are added where they are read.
using Twice = std::pair<at::Tensor, at::Tensor>;

class BasicBlockImpl final : public ::torch::nn::Module {
 public:
  BasicBlockImpl(std::int64_t in, std::int64_t out, std::int64_t stride, bool blurpool)
      : conv1_(
            register_module("conv1", Convolution(ConvolutionShape{in, out, 3, stride}, blurpool))),
        bn1_(register_module("bn1", ::torch::nn::BatchNorm2d(out))),
        conv2_(register_module("conv2", Convolution(ConvolutionShape{out, out, 3, 1}, blurpool))),
        bn2_(register_module("bn2", ::torch::nn::BatchNorm2d(out))) {
    if (stride > 1 || in != out) {
      shortcut_ = Convolution(ConvolutionShape{in, out, 1, stride}, blurpool);
      shortcut_norm_ = ::torch::nn::BatchNorm2d(out);
      downsample_ =
          register_module("downsample", ::torch::nn::Sequential(shortcut_, shortcut_norm_));
    }
  }

  at::Tensor forward(const at::Tensor& input) {
    const at::Tensor inner = bn2_(conv2_(at::relu(bn1_(conv1_(input)))));
    return at::relu(inner + (downsample_.is_empty() ? input : downsample_->forward(input)));
  }

  Twice fused_forward(const Twice& input, const WeightCopies& copies) {
    using fused::Activation;
    at::Tensor around = input.second;
    if (!downsample_.is_empty()) {
      around = fused::batch_norm(shortcut_->fused_forward(around, copies),
                                 parameters_of(shortcut_norm_), Activation::kNone)
                   .first;
    }
    const at::Tensor inner = fused::batch_norm(conv1_->fused_forward(input.first, copies),
                                               parameters_of(bn1_), Activation::kRelu)
                                 .first;
    return fused::batch_norm(conv2_->fused_forward(inner, copies), parameters_of(bn2_),
                             Activation::kRelu, around);
  }

 private:
  Convolution conv1_;
  ::torch::nn::BatchNorm2d bn1_;
  Convolution conv2_;
  ::torch::nn::BatchNorm2d bn2_;
  ::torch::nn::Sequential downsample_ = nullptr;
  Convolution shortcut_ = nullptr;  // shortcut_ and shortcut_norm_ are the parts of downsample_
  ::torch::nn::BatchNorm2d shortcut_norm_ = nullptr;
};
using BasicBlock = ::torch::nn::ModuleHolder<BasicBlockImpl>;

}  // namespace

struct ResnetImpl::Parts {
  bool pools = false;
  Convolution conv1 = nullptr;
  ::torch::nn::BatchNorm2d bn1 = nullptr;
  std::vector<BasicBlock> blocks;
  ::torch::nn::Linear fc = nullptr;
};

ResnetImpl::ResnetImpl(const ResnetOptions& options, std::int64_t channels, std::int64_t classes)
    : parts_(std::make_unique<Parts>()) {
  validate(options, "resnet");
  const bool large = options.stem == Stem::kImagenet;
  const ConvolutionShape stem{channels, options.width, large ? 7 : 3, large ? 2 : 1};
  parts_->pools = large;
  parts_->conv1 = register_module("conv1", Convolution(stem, options.blurpool));
  parts_->bn1 = register_module("bn1", ::torch::nn::BatchNorm2d(options.width));
  std::int64_t in = options.width;
  for (std::size_t layer = 0; layer < 4; ++layer) {
    ::torch::nn::Sequential sequence;
    const std::int64_t out = options.width << layer;
    for (std::int64_t block = 0; block < find_size(options.model).blocks[layer]; ++block) {
      const std::int64_t stride = layer > 0 && block == 0 ? 2 : 1;
      parts_->blocks.emplace_back(in, out, stride, options.blurpool);
      sequence->push_back(parts_->blocks.back());
      in = out;
    }
    register_module("layer" + std::to_string(layer + 1), sequence);
  }
  parts_->fc = register_module("fc", ::torch::nn::Linear(in, classes));
}

ResnetImpl::~ResnetImpl() = default;

at::Tensor ResnetImpl::forward(const at::Tensor& images) {
  at::Tensor features = at::relu(parts_->bn1(parts_->conv1(images)));
  if (parts_->pools) {
    features = at::max_pool2d(features, 3, 2, 1);
  }
  for (BasicBlock& block : parts_->blocks) {
    features = block(features);
  }
  return parts_->fc(features.mean({2, 3}));
}

std::vector<at::Tensor> ResnetImpl::copied_parameters() const {
  std::vector<at::Tensor> list;
  for (const auto& module : modules()) {
    if (const auto* convolution = module->as<ConvolutionImpl>()) {
      list.push_back(convolution->weight());
    }
  }
  list.insert(list.end(), {parts_->fc->weight, parts_->fc->bias});
  return list;
}

at::Tensor ResnetImpl::fused_forward(const at::Tensor& images, const WeightCopies& copies) {
  Twice features = fused::batch_norm(parts_->conv1->fused_forward(images.to(at::kBFloat16), copies),
                                     parameters_of(parts_->bn1), fused::Activation::kRelu);
  if (parts_->pools) {
    const at::Tensor pooled = at::max_pool2d(features.first, 3, 2, 1);
    features = {pooled, pooled};
  }
  for (BasicBlock& block : parts_->blocks) {
    features = block->fused_forward(features, copies);
  }
  return fused::linear(features.first.mean({2, 3}), copies.of(parts_->fc->weight),
                       copies.of(parts_->fc->bias));
}

void to_channels_last(::torch::nn::Module& model) {
  const ::torch::NoGradGuard no_gradient;
  for (at::Tensor& parameter : model.parameters()) {
    if (parameter.dim() == 4) {
      parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
    }
  }
}

}  // namespace sing::lab::model
