// Implements convolution with copied weights, and batch normalization with the layers after it.
#include "lab/fused/residual_functions.hpp"

#include <torch/torch.h>

#include "lab/fused/kernel_arguments.hpp"

namespace sing::lab::fused {
namespace {

using ::torch::autograd::AutogradContext;
using ::torch::autograd::Function;
using ::torch::autograd::variable_list;
using Maybe = std::optional<at::Tensor>;  // autograd's functions take no undefined tensors

at::Tensor channels_last(const at::Tensor& values) {
  return values.contiguous(at::MemoryFormat::ChannelsLast);
}

bool fuses_columns_of(const at::Tensor& x) {
  return x.is_cuda() && x.scalar_type() == at::kBFloat16 && x.size(1) % 8 == 0 &&
         x.size(1) <= kMostNormColumns && x.numel() > x.size(1) &&
         x.is_contiguous(at::MemoryFormat::ChannelsLast);
}

const BFloat16* bits_or_null(const at::Tensor& tensor) {
  return tensor.defined() ? bits(tensor) : nullptr;
}

class Convolution final : public Function<Convolution> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& /*weight*/, const at::Tensor& weight_copy,
                            std::int64_t stride, std::int64_t padding) {
    context->save_for_backward({x, weight_copy});
    context->saved_data["stride"] = stride;
    context->saved_data["padding"] = padding;
    return at::conv2d(x, weight_copy, {}, stride, padding);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const std::int64_t stride = context->saved_data["stride"].toInt();
    const std::int64_t padding = context->saved_data["padding"].toInt();
    auto [x, weight, bias] = at::convolution_backward(
        gradients[0], saved[0], saved[1],
        /*bias_sizes=*/std::nullopt, {stride, stride}, {padding, padding},
        /*dilation=*/{1, 1},
        /*transposed=*/false,
        /*output_padding=*/{0, 0},
        /*groups=*/1, {context->needs_input_grad(0), context->needs_input_grad(1), false});
    return {x, weight.defined() ? weight.to(at::kFloat) : weight, {}, {}, {}};
  }
};

class BatchNormFunction final : public Function<BatchNormFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& x,
                               const at::Tensor& gain, const at::Tensor& shift,
                               const Maybe& residual, const BatchNormParameters& norm,
                               bool rectify) {
    const std::int64_t columns = x.size(1);
    const std::int64_t rows = x.numel() / columns;
    at::Tensor out = at::empty_like(x);
    const at::Tensor mean = floats(x, {columns});
    const at::Tensor inverse = floats(x, {columns});
    const at::Tensor partial = floats(x, {batch_norm_parts(x.numel()), 2 * columns});
    const at::Tensor sums = floats(x, {2 * columns});
    fused::batch_norm({.x = bits(x),
                       .residual = residual ? bits(*residual) : nullptr,
                       .gain = gain.const_data_ptr<float>(),
                       .shift = shift.const_data_ptr<float>(),
                       .running_mean = norm.running_mean.mutable_data_ptr<float>(),
                       .running_variance = norm.running_variance.mutable_data_ptr<float>(),
                       .batches = norm.batches.mutable_data_ptr<std::int64_t>(),
                       .out = writable_bits(out),
                       .mean = mean.mutable_data_ptr<float>(),
                       .inverse_deviation = inverse.mutable_data_ptr<float>(),
                       .partial = partial.mutable_data_ptr<float>(),
                       .sums = sums.mutable_data_ptr<float>(),
                       .rows = rows,
                       .columns = columns,
                       .momentum = static_cast<float>(norm.momentum),
                       .epsilon = static_cast<float>(norm.epsilon),
                       .rectify = rectify},
                      stream_of(x));
    context->set_materialize_grads(false);
    context->saved_data["rectify"] = rectify;
    context->saved_data["has_residual"] = residual.has_value();
    variable_list saved = {x, gain, shift, mean, inverse};
    if (residual) {
      saved.push_back(out);
    }
    context->save_for_backward(saved);
    return {out, out.variable_data()};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const bool has_residual = context->saved_data["has_residual"].toBool();
    if (!gradients[0].defined()) {
      std::swap(gradients[0], gradients[1]);
    }
    const at::Tensor first = channels_last(gradients[0]);
    const at::Tensor second = gradients[1].defined() ? channels_last(gradients[1]) : gradients[1];
    at::Tensor x_gradient = at::empty_like(x);
    at::Tensor inner = has_residual || second.defined() ? at::empty_like(x) : at::Tensor();
    const at::Tensor partial = floats(x, {batch_norm_parts(x.numel()), 2 * x.size(1)});
    const at::Tensor columns = floats(x, {2, x.size(1)});
    batch_norm_gradient({.x = bits(x),
                         .out = has_residual ? bits(saved[5]) : nullptr,
                         .out_gradient = bits(first),
                         .second_out_gradient = bits_or_null(second),
                         .gain = saved[1].const_data_ptr<float>(),
                         .shift = saved[2].const_data_ptr<float>(),
                         .mean = saved[3].const_data_ptr<float>(),
                         .inverse_deviation = saved[4].const_data_ptr<float>(),
                         .inner_gradient = inner.defined() ? writable_bits(inner) : nullptr,
                         .x_gradient = writable_bits(x_gradient),
                         .partial = partial.mutable_data_ptr<float>(),
                         .column_gradients = columns.mutable_data_ptr<float>(),
                         .rows = x.numel() / x.size(1),
                         .columns = x.size(1),
                         .rectify = context->saved_data["rectify"].toBool()},
                        stream_of(x));
    return {x_gradient, columns[1], columns[0], has_residual ? inner : at::Tensor(), {}, {}};
  }
};

}  // namespace

at::Tensor convolution(const at::Tensor& x, const Copied& weight, const ConvolutionPlace& place) {
  if (x.is_cuda() && weight.copy.defined()) {
    return Convolution::apply(x, weight.parameter, weight.copy, place.stride, place.padding);
  }
  return at::conv2d(x, weight.parameter.to(x.scalar_type()), {}, place.stride, place.padding);
}

std::pair<at::Tensor, at::Tensor> batch_norm(const at::Tensor& x, const BatchNormParameters& norm,
                                             Activation activation, const at::Tensor& residual) {
  const bool rectify = activation == Activation::kRelu;
  if (fuses_columns_of(x) && (!residual.defined() || fuses_columns_of(residual))) {
    const variable_list both = BatchNormFunction::apply(
        x, norm.gain, norm.shift, residual.defined() ? Maybe(residual) : Maybe(), norm, rectify);
    return {both[0], both[1]};
  }
  {
    const at::NoGradGuard no_gradient;
    at::Tensor batches = norm.batches;
    batches += 1;
  }
  at::Tensor out = at::batch_norm(x.to(at::kFloat), norm.gain, norm.shift, norm.running_mean,
                                  norm.running_variance,
                                  /*training=*/true, norm.momentum, norm.epsilon,
                                  /*cudnn_enabled=*/false);
  if (residual.defined()) {
    out = out + residual.to(at::kFloat);
  }
  out = (rectify ? at::relu(out) : out).to(x.scalar_type());
  return {out, out};
}

}  // namespace sing::lab::fused
