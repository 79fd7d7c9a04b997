// Checks the fused layers against the same formulas in float64, and the fused model against the
// plain one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "adapters/torch/autocast_guard.hpp"
#include "lab/fused/packed_rows.hpp"
#include "lab/fused/residual_functions.hpp"
#include "lab/fused/text_functions.hpp"
#include "lab/model/resnet.hpp"
#include "lab/model/text_model.hpp"
#include "lab/model/translator.hpp"
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
  void expect_agreement(const Layer& layer, const Layer& formula, const Tensors& inputs,
                        double float_rounding = kFloatRounding) const {
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
      EXPECT_LE(distance(results[i], exact[i]), is_float ? float_rounding : kRounding) << i;
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

// The kernel multiplies by a matrix with more rows. What they give is left out, also if the
// gradient lies in the memory of such a product, as that of the loss.
TEST_P(FusedLayers, LinearWithAnUnevenNumberOfRows) {
  const at::Tensor weight = random({51, 128}, at::kBFloat16).to(at::kFloat).requires_grad_();
  const at::Tensor bias = random({51}, at::kBFloat16).to(at::kFloat).requires_grad_();
  const at::Tensor targets = at::arange(640, at::TensorOptions(device_).dtype(at::kLong)) % 51;
  const auto copied = [](const at::Tensor& t) { return Copied{t, t.detach().to(at::kBFloat16)}; };
  expect_agreement(
      [&](const Tensors& t) {
        return Tensors{linear(t[0], copied(t[1]), copied(t[2])),
                       cross_entropy(linear(t[0], copied(t[1])), targets, {})};
      },
      [&](const Tensors& t) {
        return Tensors{at::linear(t[0], t[1], t[2]),
                       at::cross_entropy_loss(at::linear(t[0], t[1]), targets)};
      },
      {bf16({640, 128}), weight, bias}, /*float_rounding=*/kRounding);
}

TEST_P(FusedLayers, JoinedLinear) {
  Tensors inputs = {bf16({640, 128})};
  for (const std::int64_t rows : {64, 128, 24}) {
    inputs.push_back(random({rows, 128}, at::kBFloat16).to(at::kFloat).requires_grad_());
    inputs.push_back(random({rows}, at::kBFloat16).to(at::kFloat).requires_grad_());
  }
  const auto copied = [](const at::Tensor& t) { return Copied{t, t.detach().to(at::kBFloat16)}; };
  expect_agreement(
      [&](const Tensors& t) {
        const std::array weights = {copied(t[1]), copied(t[3]), copied(t[5])};
        const std::array biases = {copied(t[2]), copied(t[4]), copied(t[6])};
        return Tensors{joined_linear(t[0], weights, biases)};
      },
      [](const Tensors& t) {
        return Tensors{at::linear(t[0], at::cat({t[1], t[3], t[5]}), at::cat({t[2], t[4], t[6]}))};
      },
      inputs);
}

// Every fourth element or so is dropped.
TEST_P(FusedLayers, AddNormWithDropout) {
  Dropouts dropouts(0.25, 2, 600, 384, device_);
  dropouts.next();
  const Dropout dropout = dropouts.next();
  const at::Tensor factors = dropout.keep.to(at::kDouble) * dropout.factor;
  EXPECT_NEAR(factors.mean().item<double>(), 1, 0.01);
  EXPECT_DOUBLE_EQ(factors.max().item<double>(), 1 / 0.75);
  const auto formula = [&](const Tensors& t) {
    const at::Tensor sum = t[0] + (t[1] + t[2]) * factors;
    return Tensors{sum, at::layer_norm(sum, {384}, t[3], t[4], 1e-6)};
  };
  const Tensors parameters = {float32({384}), float32({384}), float32({384})};
  expect_agreement(
      [&](const Tensors& t) {
        const auto [sum, normalized] = add_norm(t[0], t[1], t[2], {t[3], t[4], 1e-6}, dropout);
        return Tensors{sum, normalized};
      },
      formula,
      {float32({600, 384}), bf16({600, 384}), parameters[0], parameters[1], parameters[2]});
}

// The LayerNorm has one reader or two.
TEST_P(FusedLayers, NormOfSum) {
  Dropouts dropouts(0.25, 1, 600, 384, device_);
  for (const Dropout& dropout : {dropouts.next(), Dropout{}}) {
    for (const std::size_t readers : {0, 1, 2}) {
      SCOPED_TRACE(fmt::format("dropout {}, readers {}", dropout.keep.defined(), readers));
      const auto read = [&](const at::Tensor& first, const at::Tensor& second) {
        return readers == 2 ? Tensors{first, second} : Tensors{readers == 0 ? first : second};
      };
      expect_agreement(
          [&](const Tensors& t) {
            const auto [first, second] = norm_of_sum(t[0], t[1], t[2], {t[3], t[4], 1e-6}, dropout);
            return read(first, second);
          },
          [&](const Tensors& t) {
            const at::Tensor branch = t[1] + t[2];
            const at::Tensor sum =
                t[0] + (dropout.keep.defined() ? branch * dropout.keep * dropout.factor : branch);
            const at::Tensor normalized = at::layer_norm(sum, {384}, t[3], t[4], 1e-6);
            return read(normalized, normalized);
          },
          {bf16({600, 384}), bf16({600, 384}), float32({384}), float32({384}), float32({384})});
    }
  }
}

TEST_P(FusedLayers, BiasRelu) {
  for (const std::int64_t columns : {1536, 12}) {
    SCOPED_TRACE(columns);
    Dropouts dropouts(0.25, 1, 700, columns, device_);
    for (const Dropout& dropout : {dropouts.next(), Dropout{}}) {
      expect_agreement(
          [&](const Tensors& t) { return Tensors{bias_relu(t[0], t[1], dropout)}; },
          [&](const Tensors& t) {
            const at::Tensor out = at::relu(t[0] + t[1]);
            return Tensors{dropout.keep.defined() ? out * dropout.keep * dropout.factor : out};
          },
          {bf16({700, columns}), float32({columns})});
    }
  }
}

// bool [rows, longest] on the device: true until the end of each row.
at::Tensor tokens_of(const std::vector<std::int64_t>& lengths, std::int64_t longest,
                     const at::Device& device) {
  const at::Tensor ends = at::tensor(lengths, at::kLong).to(device);
  return at::arange(longest, ends.options()) < ends.unsqueeze(1);
}

TEST_P(FusedLayers, RowsArePackedInTheirOrder) {
  const PackedRows rows = pack_rows(tokens_of({5, 1, 4, 3}, 5, device_));
  EXPECT_TRUE(
      at::equal(rows.begins.cpu(), at::tensor({0, 5, 6, 10, 13, 18, 20, 20, 20}, at::kInt)));
  EXPECT_TRUE(at::equal(rows.order.cpu(), at::tensor({0,  1,  2,  3, 4, 5, 10, 11, 12, 13,
                                                      15, 16, 17, 6, 7, 8, 9,  14, 18, 19},
                                                     at::kLong)));
  const at::Tensor values = random({4, 5, 3});
  EXPECT_TRUE(at::equal(padded(packed(values, rows), rows), values));
}

// The sequences of four queries with their keys in turn: short ones, heads of a width that no
// kernel takes, and a sequence longer than our kernel takes. Values that tell the keys apart show
// which weights dropout keeps.
TEST_P(FusedLayers, PackedAttention) {
  for (const auto& [longest, width] : {std::pair{6, 32}, {6, 64}, {6, 20}, {40, 128}, {80, 128}}) {
    for (const bool causal : {false, true}) {
      for (const double dropout : {0.0, 0.25}) {
        SCOPED_TRACE(fmt::format("longest {}, width {}, causal {}, dropout {}", longest, width,
                                 causal, dropout));
        const PackedRows keys = pack_rows(tokens_of({longest - 1, 1, 4, 3}, longest, device_));
        const PackedRows queries =
            causal ? keys : pack_rows(tokens_of({2, longest, 1, longest}, longest, device_));
        const std::int64_t tokens = queries.is_token.sum().item<std::int64_t>();
        const std::int64_t all = 4 * longest;
        const PackedAttention options = {.heads = 2, .dropout = dropout, .causal = causal};
        const auto attended = [&](const Tensors& t) {
          ::torch::manual_seed(31);  // of dropout
          return attention(t[0], queries, t[1], t[2], keys, options).slice(0, 0, tokens);
        };
        const auto sequence = [&](const PackedRows& rows, const at::Tensor& values, int number) {
          const at::Tensor begins = rows.begins.cpu();  // [2, tokens of the sequence, width]
          return values.slice(0, begins[number].item<int>(), begins[number + 1].item<int>())
              .unflatten(1, {2, values.size(1) / 2})
              .transpose(0, 1);
        };
        const Tensors inputs = {bf16({all, 2 * width}), bf16({all, 2 * width}),
                                bf16({all, 2 * width})};
        at::Tensor unit = at::zeros({all, 2, width}, inputs[0].options());
        const at::Tensor begins = keys.begins.cpu();
        for (int number = 0; number < 4; ++number) {
          for (int key = begins[number].item<int>(); key < begins[number + 1].item<int>(); ++key) {
            unit.select(0, key).select(1, key - begins[number].item<int>()).fill_(1);
          }
        }
        const at::Tensor weights =
            attended({inputs[0], inputs[1], unit.flatten(1)}).detach().to(at::kDouble);
        expect_agreement(
            [&](const Tensors& t) { return Tensors{attended(t)}; },
            [&](const Tensors& t) {
              Tensors mixed;
              for (int number = 0; number < 4; ++number) {
                const at::Tensor values = sequence(keys, t[2], number);
                at::Tensor scores = at::matmul(sequence(queries, t[0], number),
                                               sequence(keys, t[1], number).transpose(1, 2)) /
                                    std::sqrt(static_cast<double>(width));
                if (causal) {
                  scores =
                      scores.masked_fill(at::ones_like(scores).triu(1).to(at::kBool), -INFINITY);
                }
                at::Tensor left = at::softmax(scores, 2);
                if (dropout > 0) {
                  const at::Tensor kept =
                      sequence(queries, weights, number).slice(2, 0, values.size(1)) > 0;
                  left = left * kept.to(at::kDouble) / (1 - dropout);
                }
                mixed.push_back(at::matmul(left, values).transpose(0, 1).flatten(1));
              }
              return Tensors{at::cat(mixed)};
            },
            inputs);
        if (dropout > 0 && !causal) {  // about a quarter of all weights is dropped
          const auto seen =
              static_cast<double>(2 * (2 * (longest - 1) + longest + 4 + longest * 3));
          EXPECT_NEAR((weights > 0).sum().item<double>() / seen, 0.75, 3 / std::sqrt(seen));
        }
      }
    }
  }
}

// Rows that fill several rounds of a block, or not one; with elements between them, without them,
// or at places that no kernel reads. Some targets are ignored.
TEST_P(FusedLayers, CrossEntropy) {
  for (const auto& [classes, stride] :
       {std::pair{10003, 10008}, {4096, 4096}, {50, 64}, {51, 51}}) {
    for (const double smoothing : {0.0, 0.1}) {
      for (const double weight : {1.0, 0.25}) {
        SCOPED_TRACE(fmt::format("{} classes, stride {}, smoothing {}, weight {}", classes, stride,
                                 smoothing, weight));
        const CrossEntropyOptions options = {.smoothing = smoothing, .ignored = 1};
        const at::Tensor targets =
            at::arange(300, at::TensorOptions(device_).dtype(at::kLong)) * 7 % classes;
        targets.slice(0, 0, 300, 5).fill_(1);
        const auto rows = [&, classes = classes](const at::Tensor& values) {
          return values.narrow(1, 0, classes);
        };
        expect_agreement(
            [&](const Tensors& t) {
              return Tensors{cross_entropy(rows(t[0] * 4), targets, options) * weight};
            },
            [&](const Tensors& t) {
              return Tensors{at::cross_entropy_loss(rows(t[0] * 4), targets, {},
                                                    at::Reduction::Mean, 1, smoothing) *
                             weight};
            },
            {bf16({300, stride})});
      }
    }
  }
}

// torch's loss throws on a CPU. A kernel must not read beyond the row.
TEST_P(FusedLayers, CrossEntropyFindsATargetThatIsNoClass) {
  for (const std::int64_t target : {16, -1}) {
    const at::Tensor logits = bf16({4, 16});
    const at::Tensor targets = at::tensor({std::int64_t{3}, target, std::int64_t{0}, target});
    const auto loss = [&] { return cross_entropy(logits, targets.to(device_), {}); };
    if (device_.is_cpu()) {
      EXPECT_THROW(loss(), c10::Error);
    } else {
      EXPECT_TRUE(std::isnan(loss().item<float>()));
    }
  }
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

// The models of text, with another length of each sequence, without dropout.
class FusedTextModels : public FusedLayers {
 protected:
  // Compares the prediction and the gradients with those of the plain model in float64, and their
  // errors with those of the plain model under autocast. Fused layers round to bf16 at the products
  // as that does, and in encoders at the residual too: the errors are at most twice as large in
  // sum, and none is twice the largest. A missing bias or a swapped layer changes gradients by
  // their own size, 30 times as much. `loss` maps a prediction, of which it may overwrite the
  // memory if told so.
  void expect_same(::torch::nn::Module& model, const std::vector<at::Tensor>& copied,
                   const std::function<at::Tensor(const model::WeightCopies*)>& predict,
                   const std::function<at::Tensor(const at::Tensor&, bool)>& loss) const {
    model.to(device_);
    {
      const at::NoGradGuard no_gradient;
      for (at::Tensor& parameter : model.parameters()) {
        parameter += 0.02 * at::randn_like(parameter);  // biases and norms take part too
      }
    }
    const auto results = [&](const model::WeightCopies* read, bool rounds) {
      model.zero_grad();
      const sing::torch::AutocastGuard autocast(device_.type(), at::kBFloat16, rounds);
      const at::Tensor prediction = predict(read);
      Tensors list = {prediction.detach().to(at::kDouble)};
      loss(prediction, read != nullptr).backward();
      for (const at::Tensor& parameter : model.parameters()) {
        list.push_back(parameter.grad().to(at::kDouble));
      }
      return list;
    };
    model.to(at::kDouble);
    const Tensors exact = results(nullptr, false);
    model.to(at::kFloat);
    const Tensors plain = results(nullptr, true);
    model::WeightCopies copies;
    for (const at::Tensor& parameter : copied) {
      copies.add(parameter, parameter.detach().to(at::kBFloat16));
    }
    const Tensors fused = results(&copies, true);
    const auto names = model.named_parameters();
    // The bias of keys adds the same to all scores of a query: its gradient is 0.
    const auto is_rounding = ::testing::Matches(
        ::testing::AnyOf(::testing::EndsWith(".k_proj.bias"), ::testing::EndsWith(".key.bias"),
                         ::testing::EndsWith(".k.bias")));
    std::vector<std::pair<std::string, double>> errors;  // of the fused model
    double largest = 0, sum = 0, plain_sum = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const std::string name = i == 0 ? "prediction" : names[i - 1].key();
      if (!is_rounding(name)) {
        const auto error = [&](const at::Tensor& value) {
          return ((value - exact[i]).norm() / exact[i].norm()).item<double>();
        };
        errors.emplace_back(name, error(fused[i]));
        sum += errors.back().second;
        plain_sum += error(plain[i]);
        largest = std::max(largest, error(plain[i]));
      }
    }
    EXPECT_LE(sum, 2 * plain_sum);
    for (const auto& [name, error] : errors) {
      EXPECT_LE(error, 2 * largest) << name;
    }
  }

  // int64 [rows, longest] from 2 on, row r with longest − r numbers and then `padding`.
  at::Tensor rows_of(std::int64_t rows, std::int64_t longest, std::int64_t padding) const {
    at::Tensor ids = at::randint(2, 90, {rows, longest}, at::kLong);
    for (std::int64_t row = 0; row < rows; ++row) {
      ids[row].slice(0, longest - row).fill_(padding);
    }
    return ids.to(device_);
  }
};
SING_ON_DEVICES(FusedTextModels);

TEST_P(FusedTextModels, Translator) {
  for (const bool shared : {false, true}) {
    const model::TranslatorOptions options = {.layers = 2,
                                              .width = 128,
                                              .feed_forward = 256,
                                              .heads = 2,
                                              .dropout = 0,
                                              .share_embeddings = shared};
    model::TranslatorImpl translator(options, {96, 96, 1});
    const at::Tensor source = rows_of(6, 17, 1);
    const at::Tensor target = rows_of(6, 14, 1);
    const PackedRows rows = pack_rows(target != 1);
    const at::Tensor targets = packed(target, rows);
    expect_same(
        translator, translator.copied_parameters(),
        [&](const model::WeightCopies* copies) {  // what filled-up places get means nothing
          return (copies != nullptr ? translator.fused_forward(source, target, rows, *copies)
                                    : packed(translator.forward(source, target), rows)) *
                 (targets != 1).unsqueeze(1);
        },
        [&](const at::Tensor& logits, bool fused) {
          return fused ? cross_entropy(logits, targets, {.smoothing = 0.1, .ignored = 1})
                       : at::cross_entropy_loss(logits.to(at::kFloat), targets, {},
                                                at::Reduction::Mean, 1, 0.1);
        });
  }
}

// Both kinds: with and without a bias for the distance of two tokens.
TEST_P(FusedTextModels, TextEncoder) {
  for (const model::EncoderSize size :
       {model::EncoderSize::kMiniLm, model::EncoderSize::kMpnetBase}) {
    model::EncoderShape shape = model::shape_of(size, 96);
    shape.width = 128;
    shape.heads = 4;
    shape.hidden = 256;
    shape.depth = 2;
    shape.dropout = shape.attention_dropout = 0;
    model::TextModelImpl encoder(shape, model::Pooler::kNone, "head", 3);
    const at::Tensor ids = rows_of(6, 24, shape.padding);
    const model::EncoderInput input = {ids, ids % 2, ids != shape.padding};
    const at::Tensor targets = random({6, 24, 3});
    expect_same(
        encoder, encoder.copied_parameters(),
        [&](const model::WeightCopies* copies) {
          const at::Tensor outputs =
              copies != nullptr ? encoder.fused_forward(input, *copies) : encoder.forward(input);
          return outputs.to(at::kFloat) * input.is_token.unsqueeze(2);
        },
        [&](const at::Tensor& outputs, bool /*fused*/) { return at::mse_loss(outputs, targets); });
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
