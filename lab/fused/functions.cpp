// Implements the fused layers as autograd functions, together with their plain equivalents.
#include "lab/fused/functions.hpp"

#include <torch/torch.h>

#include "lab/fused/kernel_arguments.hpp"

namespace sing::lab::fused {
namespace {

using ::torch::autograd::AutogradContext;
using ::torch::autograd::Function;
using ::torch::autograd::variable_list;

constexpr std::int64_t kLargestColumns = 8192;

bool is_fusible(const at::Tensor& values) {
  return values.is_cuda() && values.scalar_type() == at::kBFloat16 && values.is_contiguous();
}

bool has_column_packs(const at::Tensor& values) {
  return values.size(1) % 8 == 0 && values.size(1) <= kLargestColumns;
}

at::Tensor column_sums_of(const at::Tensor& values) {
  if (!is_fusible(values) || !has_column_packs(values)) {
    return values.to(at::kFloat).sum(0);
  }
  const at::Tensor partial = floats(values, {kPartialRows, values.size(1)});
  at::Tensor sums = floats(values, {values.size(1)});
  column_sums({.values = bits(values),
               .partial = partial.mutable_data_ptr<float>(),
               .sums = sums.mutable_data_ptr<float>(),
               .rows = values.size(0),
               .columns = values.size(1)},
              stream_of(values));
  return sums;
}

using Maybe = std::optional<at::Tensor>;  // autograd's functions take no undefined tensors

class Linear final : public Function<Linear> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& /*weight*/, const at::Tensor& weight_copy,
                            const Maybe& bias, const Maybe& bias_copy) {
    context->save_for_backward({x, weight_copy});
    context->saved_data["has_bias"] = bias.has_value();
    return bias ? at::addmm(*bias_copy, x, weight_copy.t()) : at::mm(x, weight_copy.t());
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor out = gradients[0].contiguous();
    variable_list result(5);
    if (context->needs_input_grad(0)) {
      result[0] = at::mm(out, saved[1]);
    }
    if (context->needs_input_grad(1)) {
      result[1] = at::mm(out.t(), saved[0], at::kFloat);
    }
    if (context->saved_data["has_bias"].toBool() && context->needs_input_grad(3)) {
      result[3] = column_sums_of(out);
    }
    return result;
  }
};

class AddNormFunction final : public Function<AddNormFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& x,
                               const at::Tensor& branch, const at::Tensor& bias,
                               const at::Tensor& gain, const at::Tensor& shift, double epsilon) {
    const std::int64_t rows = branch.size(0);
    at::Tensor sum = floats(branch, branch.sizes());
    at::Tensor normalized = at::empty_like(branch);
    const at::Tensor mean = floats(branch, {rows});
    const at::Tensor inverse = floats(branch, {rows});
    add_norm({.x = x.const_data_ptr<float>(),
              .branch = bits(branch),
              .bias = bias.const_data_ptr<float>(),
              .gain = gain.const_data_ptr<float>(),
              .shift = shift.const_data_ptr<float>(),
              .sum = sum.mutable_data_ptr<float>(),
              .normalized = writable_bits(normalized),
              .mean = mean.mutable_data_ptr<float>(),
              .inverse_deviation = inverse.mutable_data_ptr<float>(),
              .rows = rows,
              .x_rows = x.size(0),
              .width = branch.size(1),
              .epsilon = static_cast<float>(epsilon)},
             stream_of(branch));
    context->set_materialize_grads(false);
    context->save_for_backward({sum, mean, inverse, gain});
    context->saved_data["x_rows"] = x.size(0);
    return {sum, normalized};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& sum = saved[0];
    const std::int64_t width = sum.size(1);
    const std::int64_t x_rows = context->saved_data["x_rows"].toInt();
    const at::Tensor sum_gradient =
        gradients[0].defined() ? gradients[0].contiguous() : gradients[0];
    const at::Tensor normalized_gradient =
        gradients[1].defined() ? gradients[1].contiguous()
                               : at::zeros(sum.sizes(), sum.options().dtype(at::kBFloat16));
    at::Tensor x_gradient = at::empty_like(sum);
    at::Tensor branch_gradient = at::empty_like(sum, sum.options().dtype(at::kBFloat16));
    const at::Tensor partial = floats(sum, {kNormPartialRows, 3 * width});
    const at::Tensor columns = floats(sum, {3, width});
    add_norm_gradient(
        {.normalized_gradient = bits(normalized_gradient),
         .sum_gradient = sum_gradient.defined() ? sum_gradient.const_data_ptr<float>() : nullptr,
         .sum = sum.const_data_ptr<float>(),
         .mean = saved[1].const_data_ptr<float>(),
         .inverse_deviation = saved[2].const_data_ptr<float>(),
         .gain = saved[3].const_data_ptr<float>(),
         .x_gradient = x_gradient.mutable_data_ptr<float>(),
         .branch_gradient = writable_bits(branch_gradient),
         .partial = partial.mutable_data_ptr<float>(),
         .column_gradients = columns.mutable_data_ptr<float>(),
         .rows = sum.size(0),
         .width = width},
        stream_of(sum));
    if (x_rows < sum.size(0)) {
      x_gradient = x_gradient.view({-1, x_rows, width}).sum(0);
    }
    return {x_gradient, branch_gradient, columns[2], columns[0], columns[1], {}};
  }
};

class BiasGeluFunction final : public Function<BiasGeluFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& values,
                            const at::Tensor& bias) {
    at::Tensor out = at::empty_like(values);
    bias_gelu({.values = bits(values),
               .bias = bias.const_data_ptr<float>(),
               .out = writable_bits(out),
               .rows = values.size(0),
               .columns = values.size(1)},
              stream_of(values));
    context->save_for_backward({values, bias});
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& values = saved[0];
    const at::Tensor out_gradient = gradients[0].contiguous();
    at::Tensor values_gradient = at::empty_like(values);
    const at::Tensor partial = floats(values, {kPartialRows, values.size(1)});
    at::Tensor bias_gradient = floats(values, {values.size(1)});
    bias_gelu_gradient({.values = bits(values),
                        .bias = saved[1].const_data_ptr<float>(),
                        .out_gradient = bits(out_gradient),
                        .values_gradient = writable_bits(values_gradient),
                        .partial = partial.mutable_data_ptr<float>(),
                        .bias_gradient = bias_gradient.mutable_data_ptr<float>(),
                        .rows = values.size(0),
                        .columns = values.size(1)},
                       stream_of(values));
    return {values_gradient, bias_gradient};
  }
};

class ShortAttentionFunction final : public Function<ShortAttentionFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& qkv, std::int64_t batch,
                            std::int64_t heads) {
    at::Tensor out = at::empty({qkv.size(0), qkv.size(1) / 3}, qkv.options());
    short_attention({.qkv = bits(qkv), .out = writable_bits(out), .batch = batch, .heads = heads},
                    stream_of(qkv));
    context->save_for_backward({qkv});
    context->saved_data["batch"] = batch;
    context->saved_data["heads"] = heads;
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::Tensor qkv = context->get_saved_variables()[0];
    const at::Tensor out_gradient = gradients[0].contiguous();
    at::Tensor qkv_gradient = at::empty_like(qkv);
    short_attention_gradient({.qkv = bits(qkv),
                              .out_gradient = bits(out_gradient),
                              .qkv_gradient = writable_bits(qkv_gradient),
                              .batch = context->saved_data["batch"].toInt(),
                              .heads = context->saved_data["heads"].toInt()},
                             stream_of(qkv));
    return {qkv_gradient, {}, {}};
  }
};

}  // namespace

at::Tensor linear(const at::Tensor& x, const Copied& weight, const Copied& bias) {
  if (x.is_cuda()) {
    const bool has_bias = bias.parameter.defined();
    return Linear::apply(x, weight.parameter, weight.copy,
                         has_bias ? Maybe(bias.parameter) : Maybe(),
                         has_bias ? Maybe(bias.copy) : Maybe());
  }
  const at::Tensor products = at::linear(x, weight.parameter.to(x.scalar_type()));
  return bias.parameter.defined() ? products + bias.parameter.to(x.scalar_type()) : products;
}

std::pair<at::Tensor, at::Tensor> add_norm(const at::Tensor& x, const at::Tensor& branch,
                                           const at::Tensor& bias, const NormParameters& norm) {
  if (is_fusible(branch) && x.is_contiguous() && add_norm_supports(branch.size(1))) {
    const variable_list both =
        AddNormFunction::apply(x, branch, bias, norm.gain, norm.shift, norm.epsilon);
    return {both[0], both[1]};
  }
  const at::Tensor repeated =
      x.size(0) < branch.size(0) ? x.repeat({branch.size(0) / x.size(0), 1}) : x;
  const at::Tensor sum = repeated + branch.to(at::kFloat) + bias;
  return {sum, at::layer_norm(sum, {sum.size(1)}, norm.gain, norm.shift, norm.epsilon)
                   .to(branch.scalar_type())};
}

at::Tensor bias_gelu(const at::Tensor& values, const at::Tensor& bias) {
  if (is_fusible(values) && has_column_packs(values)) {
    return BiasGeluFunction::apply(values, bias);
  }
  return at::gelu(values.to(at::kFloat) + bias).to(values.scalar_type());
}

at::Tensor attention(const at::Tensor& qkv, const AttentionShape& shape) {
  const std::int64_t width = qkv.size(1) / 3;
  const std::int64_t head_width = width / shape.heads;
  if (is_fusible(qkv) && shape.tokens == kAttentionTokens && head_width == kHeadWidth) {
    return ShortAttentionFunction::apply(qkv, shape.batch, shape.heads);
  }
  const std::vector<at::Tensor> parts =  // each [batch, heads, tokens, width of a head]
      qkv.view({shape.batch, shape.tokens, 3, shape.heads, head_width})
          .permute({2, 0, 3, 1, 4})
          .unbind(0);
  return at::scaled_dot_product_attention(parts[0], parts[1], parts[2])
      .transpose(1, 2)
      .reshape({qkv.size(0), width});
}

}  // namespace sing::lab::fused
