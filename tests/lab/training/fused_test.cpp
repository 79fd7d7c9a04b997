// Checks the fused layers against the same formulas in float64, and the fused model against the
// plain one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>

#include "adapters/torch/autocast_guard.hpp"
#include "lab/fused/residual_functions.hpp"
#include "lab/model/resnet.hpp"
#include "lab/model/vit.hpp"
#include "sing/base/message.hpp"
#include "tests/torch/device_test.hpp"

namespace sing::lab::fused {
namespace {

using Tensors = std::vector<at::Tensor>;
using Layer = std::function<Tensors(const Tensors&)>;

// Rounding to bf16 moves an element by at most 2⁻⁹ of its size, and the plain layer rounds up to
// four times.
constexpr double kRounding = 0x1p-7;
constexpr double kFloatRounding = 1e-5;  // sums of up to 4096 terms in float32

class FusedLayers : public test::DeviceTest {
 protected:
  at::Tensor bf16(at::IntArrayRef shape) const {
    return random(shape, at::kBFloat16).requires_grad_();
  }
  at::Tensor float32(at::IntArrayRef shape) const { return random(shape).requires_grad_(); }

  static double distance(const at::Tensor& a, const at::Tensor& exact) {
    return ((a.to(at::kDouble) - exact).abs().max() / exact.abs().max()).item<double>();
  }

  // Compares the results and gradients of `layer` with those of `formula` in float64, from the same
  // inputs and the same gradients of the results.
  void expect_agreement(const Layer& layer, const Layer& formula, const Tensors& inputs) const {
    Tensors exact_inputs;
    for (const at::Tensor& input : inputs) {
      exact_inputs.push_back(input.detach().to(at::kDouble).requires_grad_());
    }
    const Tensors results = layer(inputs);
    const Tensors exact = formula(exact_inputs);
    at::Tensor total = at::zeros({}, exact[0].options());
    Tensors gradients;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const bool is_float = results[i].scalar_type() == at::kFloat;
      EXPECT_LE(distance(results[i], exact[i]), is_float ? kFloatRounding : kRounding) << i;
      gradients.push_back(random(results[i].sizes(), results[i].scalar_type()));
      total = total + (exact[i] * gradients[i].to(at::kDouble)).sum();
    }
    ::torch::autograd::backward(results, gradients);
    total.backward();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const at::Tensor& gradient = inputs[i].grad();
      ASSERT_TRUE(gradient.defined()) << i;
      ASSERT_EQ(gradient.scalar_type(), inputs[i].scalar_type());
      EXPECT_LE(distance(gradient, exact_inputs[i].grad()), kRounding) << "gradient " << i;
    }
  }
};
SING_ON_DEVICES(FusedLayers);

TEST_P(FusedLayers, Linear) {
  const at::Tensor weight = random({256, 384}, at::kBFloat16).to(at::kFloat).requires_grad_();
  const at::Tensor bias = random({256}, at::kBFloat16).to(at::kFloat).requires_grad_();
  const auto copied = [](const at::Tensor& t) { return Copied{t, t.detach().to(at::kBFloat16)}; };
  expect_agreement(
      [&](const Tensors& t) { return Tensors{linear(t[0], copied(t[1]), copied(t[2]))}; },
      [](const Tensors& t) { return Tensors{at::linear(t[0], t[1], t[2])}; },
      {bf16({640, 384}), weight, bias});
}

// Tests widths of every number of packs that a lane can hold, and one that has no kernel.
TEST_P(FusedLayers, AddNorm) {
  for (const std::int64_t width : {128, 256, 384, 512, 640, 768, 896, 1024, 192}) {
    for (const std::int64_t x_rows : {600, 40}) {
      SCOPED_TRACE(fmt::format("width {}, rows of x {}", width, x_rows));
      expect_agreement(
          [](const Tensors& t) {
            const auto [sum, normalized] = add_norm(t[0], t[1], t[2], {t[3], t[4], 1e-6});
            return Tensors{sum, normalized};
          },
          [&](const Tensors& t) {
            const at::Tensor sum = t[0].repeat({600 / x_rows, 1}) + t[1] + t[2];
            return Tensors{sum, at::layer_norm(sum, {width}, t[3], t[4], 1e-6)};
          },
          {float32({x_rows, width}), bf16({600, width}), float32({width}), float32({width}),
           float32({width})});
    }
  }
}

TEST_P(FusedLayers, BiasGelu) {
  for (const std::int64_t columns : {1536, 8, 8192, 12}) {
    SCOPED_TRACE(columns);
    expect_agreement([](const Tensors& t) { return Tensors{bias_gelu(t[0], t[1])}; },
                     [](const Tensors& t) { return Tensors{at::gelu(t[0] + t[1])}; },
                     {bf16({700, columns}), float32({columns})});
  }
}

// 64 tokens and heads of 64 have a kernel; the others use torch's.
TEST_P(FusedLayers, Attention) {
  for (const auto& [tokens, width] : {std::pair{64, 64}, {64, 32}, {80, 64}}) {
    SCOPED_TRACE(fmt::format("{} tokens, heads of {}", tokens, width));
    const AttentionShape shape{3, tokens, 2};
    expect_agreement([&](const Tensors& t) { return Tensors{attention(t[0], shape)}; },
                     [&, tokens = tokens, width = width](const Tensors& t) {
                       const at::Tensor parts =
                           t[0].view({3, tokens, 3, 2, width}).permute({2, 0, 3, 1, 4});
                       const at::Tensor scores = at::matmul(parts[0], parts[1].transpose(2, 3)) /
                                                 std::sqrt(static_cast<double>(width));
                       return Tensors{at::matmul(at::softmax(scores, 3), parts[2])
                                          .transpose(1, 2)
                                          .reshape({3 * tokens, 2 * width})};
                     },
                     {bf16({3 * tokens, 3 * 2 * width})});
  }
}

TEST_P(FusedLayers, Convolution) {
  const at::Tensor weight = random({32, 16, 3, 3}, at::kBFloat16).to(at::kFloat).requires_grad_();
  expect_agreement(
      [](const Tensors& t) {
        return Tensors{convolution(t[0], {t[1], t[1].detach().to(at::kBFloat16)},
                                   {.stride = 2, .padding = 1})};
      },
      [](const Tensors& t) { return Tensors{at::conv2d(t[0], t[1], {}, 2, 1)}; },
      {bf16({4, 16, 9, 9}), weight});
}

// The input is shifted, with a mean many deviations from zero. The channel counts fill a block of
// threads, do not fill one, or have no kernel; the result has one reader or two.
TEST_P(FusedLayers, BatchNorm) {
  for (const std::int64_t channels : {64, 24, 512, 2048, 12}) {
    for (const bool has_residual : {false, true}) {
      for (const auto activation : {Activation::kNone, Activation::kRelu}) {
        for (const std::size_t readers : {1, 2}) {
          SCOPED_TRACE(
              fmt::format("{} channels, residual {}, readers {}", channels, has_residual, readers));
          const at::Tensor running = at::zeros({2, channels}, at::TensorOptions(device_));
          const at::Tensor batches = at::zeros({}, at::TensorOptions(device_).dtype(at::kLong));
          const auto last = at::MemoryFormat::ChannelsLast;
          Tensors inputs = {(random({6, channels, 5, 7}) + 30)
                                .to(at::kBFloat16)
                                .contiguous(last)
                                .requires_grad_(),
                            float32({channels}), float32({channels})};
          if (has_residual) {
            inputs.push_back(
                random({6, channels, 5, 7}, at::kBFloat16).contiguous(last).requires_grad_());
          }
          const auto repeated = [&](const at::Tensor& a, const at::Tensor& b) {
            return readers == 1 ? Tensors{a} : Tensors{a, b};
          };
          expect_agreement(
              [&](const Tensors& t) {
                const auto [first, second] = batch_norm(
                    t[0], {t[1], t[2], running[0], running[1], batches, /*momentum=*/0.1, 1e-5},
                    activation, has_residual ? t[3] : at::Tensor());
                return repeated(first, second);
              },
              [&](const Tensors& t) {
                at::Tensor out =
                    at::batch_norm(t[0], t[1], t[2], {}, {}, true, 0.1, 1e-5, /*cudnn=*/false);
                out = has_residual ? out + t[3] : out;
                out = activation == Activation::kRelu ? at::relu(out) : out;
                return repeated(out, out);
              },
              inputs);
          const at::Tensor exact = inputs[0].detach().to(at::kDouble);
          EXPECT_LE(distance(running[0], 0.1 * exact.mean({0, 2, 3})), kFloatRounding);
          EXPECT_LE(distance(running[1], 0.1 * exact.var({0, 2, 3}, /*unbiased=*/true)), 1e-4);
          EXPECT_EQ(batches.item<std::int64_t>(), 1);
        }
      }
    }
  }
}

// A gradient that never arrives, such as that of the last sum in a model, counts as zero.
TEST_P(FusedLayers, AddNormWithoutAGradientOfTheSum) {
  const Tensors in = {float32({24, 384}), bf16({24, 384}), float32({384}), float32({384}),
                      float32({384})};
  add_norm(in[0], in[1], in[2], {in[3], in[4], 1e-6})
      .second.to(at::kFloat)
      .square()
      .sum()
      .backward();
  const at::Tensor gradient = in[0].grad().clone();
  for (const at::Tensor& each : in) {
    each.mutable_grad() = at::Tensor();
  }
  const auto [sum, normalized] = add_norm(in[0], in[1], in[2], {in[3], in[4], 1e-6});
  (normalized.to(at::kFloat).square().sum() + 0 * sum.sum()).backward();
  EXPECT_TRUE(at::equal(gradient, in[0].grad()));
}

// Compares the whole model with the plain one under autocast, which rounds at other points. The two
// may differ by bf16's rounding through the depth, but not by a missing bias or a swapped layer,
// which change gradients by their own size.
TEST_P(FusedLayers, OfAModel) {
  const auto vit = std::make_shared<model::VitImpl>(
      model::shape_of({.depth = 2, .width = 384, .heads = 6}, 128, 1), std::nullopt);
  {
    const at::NoGradGuard no_gradient;
    for (at::Tensor& parameter : vit->parameters()) {
      parameter += 0.02 * at::randn_like(parameter);  // biases and norms take part too
    }
  }
  vit->to(device_);
  model::WeightCopies copies;
  for (const at::Tensor& parameter : vit->copied_parameters()) {
    copies.add(parameter, parameter.detach().to(at::kBFloat16));
  }
  const at::Tensor images = random({6, 1, 128, 128});
  const at::Tensor targets = random({6, 1, 128, 128});
  const auto gradients = [&](const std::function<at::Tensor()>& forward) {
    vit->zero_grad();
    at::Tensor prediction = forward();
    at::mse_loss(prediction.to(at::kFloat), targets).backward();
    Tensors list = {prediction.detach().to(at::kFloat)};
    for (const at::Tensor& parameter : vit->parameters()) {
      list.push_back(parameter.grad().clone());
    }
    return list;
  };
  const Tensors fused = gradients([&] { return vit->fused_forward(images, copies); });
  const Tensors plain = gradients([&] {
    const sing::torch::AutocastGuard autocast(device_.type(), at::kBFloat16);
    return vit->forward(images);
  });
  for (std::size_t i = 0; i < fused.size(); ++i) {
    const double error = ((fused[i] - plain[i]).norm() / plain[i].norm()).item<double>();
    EXPECT_LE(error, 0.03) << i;
  }
}

// Compares a residual network with every kind of block, and its buffers, in the same way. Rounding
// switches ReLUs on and off here, which changes gradients by 0.2 to 0.5 of their size, so the
// reference is the plain model in float64, not under autocast. The fused layers, which round less
// often, must be about as close to it, each tensor and overall; a missing or swapped layer changes
// its gradient by more than its size.
TEST_P(FusedLayers, OfAResidualNetwork) {
  for (const model::Stem stem : {model::Stem::kCifar, model::Stem::kImagenet}) {
    const auto make = [&](at::ScalarType type) {
      ::torch::manual_seed(3);
      const auto model = std::make_shared<model::ResnetImpl>(
          model::ResnetOptions{
              .width = 16, .stem = stem, .blurpool = stem == model::Stem::kImagenet},
          3, 10);
      model->to(device_);
      if (type != at::kFloat) {
        model->to(type);  // LibTorch converts the counts of batches too
      }
      model::to_channels_last(*model);
      return model;
    };
    const at::Tensor images = random({32, 3, 64, 64}).contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor labels = at::arange(32, at::TensorOptions(device_).dtype(at::kLong)) % 10;
    const auto results = [&](model::ResnetImpl& model, const at::Tensor& logits) {
      at::cross_entropy_loss(logits.to(model.parameters()[0].scalar_type()), labels).backward();
      Tensors list = {logits.detach().to(at::kDouble)};
      for (const at::Tensor& parameter : model.parameters()) {
        EXPECT_TRUE(parameter.dim() != 4 ||
                    parameter.grad().is_contiguous(at::MemoryFormat::ChannelsLast));
        list.push_back(parameter.grad().to(at::kDouble));
      }
      for (const at::Tensor& buffer : model.buffers()) {
        list.push_back(buffer.to(at::kDouble));
      }
      return list;
    };
    const auto exact_model = make(at::kDouble);
    const Tensors exact = results(*exact_model, exact_model->forward(images.to(at::kDouble)));
    const auto fused_model = make(at::kFloat);
    const auto plain_model = make(at::kFloat);
    model::WeightCopies copies;
    for (const at::Tensor& parameter : fused_model->copied_parameters()) {
      copies.add(parameter, parameter.detach().to(at::kBFloat16));
    }
    const sing::torch::AutocastGuard autocast(device_.type(), at::kBFloat16);
    const Tensors fused = results(*fused_model, fused_model->fused_forward(images, copies));
    const Tensors plain = results(*plain_model, plain_model->forward(images));
    ASSERT_EQ(fused.size(), exact.size());
    double fused_errors = 0;
    double plain_errors = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const auto error = [&](const Tensors& list) {
        return ((list[i] - exact[i]).norm() / exact[i].norm()).item<double>();
      };
      EXPECT_LE(error(fused), std::max(0.8, 1.2 * error(plain))) << i << ", plain " << error(plain);
      fused_errors += error(fused);
      plain_errors += error(plain);
    }
    EXPECT_LE(fused_errors, 1.25 * plain_errors);
  }
}

}  // namespace
}  // namespace sing::lab::fused
