// Implements the fused layers as autograd functions, together with their plain equivalents.
#include <torch/torch.h>

#include <numeric>

#include "lab/fused/kernel_arguments.hpp"
#include "lab/fused/text_functions.hpp"

namespace sing::lab::fused {
namespace {

using ::torch::autograd::AutogradContext;
using ::torch::autograd::Function;
using ::torch::autograd::variable_list;

using Maybe = std::optional<at::Tensor>;  // autograd's functions take no undefined tensors

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

at::Tensor dropped(const at::Tensor& values, const Dropout& dropout) {
  return dropout.keep.defined() ? values * dropout.keep * dropout.factor : values;
}

const std::uint8_t* bytes_of(const Maybe& keep) {
  return keep ? keep->const_data_ptr<std::uint8_t>() : nullptr;
}

Maybe maybe(const at::Tensor& tensor) { return tensor.defined() ? Maybe(tensor) : Maybe(); }

at::Tensor joined(at::TensorList tensors) {
  return tensors.size() == 1 ? tensors[0] : at::cat(tensors);
}

// Adds rows of 0 to a matrix whose products would not begin at words of 16 bytes, which fast
// kernels need; 64 rows are a tile.
at::Tensor with_whole_tiles(const at::Tensor& weight) {
  constexpr std::int64_t kTile = 64;
  const std::int64_t rows = weight.size(0);
  return rows % 8 == 0 ? weight : at::constant_pad_nd(weight, {0, 0, 0, kTile - rows % kTile});
}

// The inputs after x are the weights, their copies, the biases and the copies of the biases.
class LinearFunction final : public Function<LinearFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, at::TensorList weights,
                            at::TensorList weight_copies, at::TensorList biases,
                            at::TensorList bias_copies) {
    const at::Tensor weight = with_whole_tiles(joined(weight_copies));
    std::vector<std::int64_t> outputs;
    for (const at::Tensor& each : weights) {
      outputs.push_back(each.size(0));
    }
    context->save_for_backward({x, weight});
    context->saved_data["outputs"] = outputs;
    context->saved_data["has_bias"] = !biases.empty();
    const std::int64_t all = std::accumulate(outputs.begin(), outputs.end(), std::int64_t{0});
    if (all == weight.size(0)) {
      return biases.empty() ? at::mm(x, weight.t()) : at::addmm(joined(bias_copies), x, weight.t());
    }
    const at::Tensor out = at::mm(x, weight.t()).narrow(1, 0, all).variable_data();
    return biases.empty() ? out : out + joined(bias_copies);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const std::vector<std::int64_t> outputs = context->saved_data["outputs"].toIntVector();
    const std::size_t parts = outputs.size();
    const bool has_bias = context->saved_data["has_bias"].toBool();
    variable_list result(1 + parts * (has_bias ? 4 : 2));
    const at::Tensor out = aligned(gradients[0], saved[1].size(0));
    if (context->needs_input_grad(0)) {
      result[0] = at::mm(out, saved[1].narrow(0, 0, out.size(1)));
    }
    const at::Tensor weight = at::mm(out.t(), saved[0], at::kFloat);
    const at::Tensor bias = has_bias ? column_sums_of(gradients[0].contiguous()) : at::Tensor();
    std::int64_t begin = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      result[1 + part] = weight.narrow(0, begin, outputs[part]);
      if (has_bias) {
        result[1 + 2 * parts + part] = bias.narrow(0, begin, outputs[part]);
      }
      begin += outputs[part];
    }
    return result;
  }

 private:
  // Returns a matrix of `columns` columns if the gradient is its left part, as that of logits is.
  // The elements right of the gradient are multiplied by rows of 0 of the weight, or their products
  // are left out.
  static at::Tensor aligned(const at::Tensor& gradient, std::int64_t columns) {
    const bool lies_so = gradient.stride(0) == columns && gradient.stride(1) == 1 &&
                         gradient.storage_offset() == 0 && columns > gradient.size(1);
    return lies_so ? gradient.as_strided({gradient.size(0), columns}, {columns, 1})
                   : gradient.contiguous();
  }
};

// Returns the sum and its LayerNorm, or for x in bf16 the LayerNorm twice, for two readers.
class AddNormFunction final : public Function<AddNormFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& x,
                               const at::Tensor& branch, const at::Tensor& bias,
                               const at::Tensor& gain, const at::Tensor& shift, double epsilon,
                               const Maybe& keep, double keep_factor) {
    const std::int64_t rows = branch.size(0);
    const bool is_half = x.scalar_type() == at::kBFloat16;
    at::Tensor sum = floats(branch, branch.sizes());
    at::Tensor normalized = at::empty_like(branch);
    const at::Tensor mean = floats(branch, {rows});
    const at::Tensor inverse = floats(branch, {rows});
    add_norm({.x = is_half ? nullptr : x.const_data_ptr<float>(),
              .half_x = is_half ? bits(x) : nullptr,
              .branch = bits(branch),
              .keep = bytes_of(keep),
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
              .epsilon = static_cast<float>(epsilon),
              .keep_factor = static_cast<float>(keep_factor)},
             stream_of(branch));
    context->set_materialize_grads(false);
    variable_list saved = {sum, mean, inverse, gain};
    if (keep) {
      saved.push_back(*keep);
    }
    context->save_for_backward(saved);
    context->saved_data["x_rows"] = x.size(0);
    context->saved_data["is_half"] = is_half;
    context->saved_data["keep_factor"] = keep_factor;
    return is_half ? variable_list{normalized, normalized.variable_data()}
                   : variable_list{sum, normalized};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& sum = saved[0];
    const std::int64_t width = sum.size(1);
    const std::int64_t x_rows = context->saved_data["x_rows"].toInt();
    const bool is_half = context->saved_data["is_half"].toBool();
    const Maybe keep = saved.size() > 4 ? Maybe(saved[4]) : Maybe();
    if (is_half && !gradients[0].defined()) {
      std::swap(gradients[0], gradients[1]);
    }
    const auto dense = [](const at::Tensor& gradient) {
      return gradient.defined() ? gradient.contiguous() : gradient;
    };
    const at::Tensor sum_gradient = is_half ? at::Tensor() : dense(gradients[0]);
    const at::Tensor second = is_half ? dense(gradients[1]) : at::Tensor();
    at::Tensor normalized_gradient = dense(gradients[is_half ? 0 : 1]);
    if (!normalized_gradient.defined()) {
      normalized_gradient = at::zeros(sum.sizes(), sum.options().dtype(at::kBFloat16));
    }
    at::Tensor branch_gradient = at::empty_like(normalized_gradient);
    at::Tensor x_gradient =
        is_half ? (keep ? at::empty_like(branch_gradient) : branch_gradient) : at::empty_like(sum);
    const at::Tensor partial = floats(sum, {kNormPartialRows, 3 * width});
    const at::Tensor columns = floats(sum, {3, width});
    add_norm_gradient(
        {.normalized_gradient = bits(normalized_gradient),
         .second_normalized_gradient = second.defined() ? bits(second) : nullptr,
         .sum_gradient = sum_gradient.defined() ? sum_gradient.const_data_ptr<float>() : nullptr,
         .sum = sum.const_data_ptr<float>(),
         .keep = bytes_of(keep),
         .mean = saved[1].const_data_ptr<float>(),
         .inverse_deviation = saved[2].const_data_ptr<float>(),
         .gain = saved[3].const_data_ptr<float>(),
         .x_gradient = is_half ? nullptr : x_gradient.mutable_data_ptr<float>(),
         .half_x_gradient = is_half && keep ? writable_bits(x_gradient) : nullptr,
         .branch_gradient = writable_bits(branch_gradient),
         .partial = partial.mutable_data_ptr<float>(),
         .column_gradients = columns.mutable_data_ptr<float>(),
         .rows = sum.size(0),
         .width = width,
         .keep_factor = static_cast<float>(context->saved_data["keep_factor"].toDouble())},
        stream_of(sum));
    if (x_rows < sum.size(0)) {
      x_gradient = x_gradient.view({-1, x_rows, width}).sum(0);
    }
    return {x_gradient, branch_gradient, columns[2], columns[0], columns[1], {}, {}, {}};
  }
};

// Applies ReLU and dropout instead of GELU if `rectifies`.
class BiasGeluFunction final : public Function<BiasGeluFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& values,
                            const at::Tensor& bias, bool rectifies, const Maybe& keep,
                            double keep_factor) {
    at::Tensor out = at::empty_like(values);
    bias_gelu({.values = bits(values),
               .bias = bias.const_data_ptr<float>(),
               .out = writable_bits(out),
               .rows = values.size(0),
               .columns = values.size(1),
               .rectifies = rectifies,
               .keep = bytes_of(keep),
               .keep_factor = static_cast<float>(keep_factor)},
              stream_of(values));
    variable_list saved = {values, bias};
    if (keep) {
      saved.push_back(*keep);
    }
    context->save_for_backward(saved);
    context->saved_data["rectifies"] = rectifies;
    context->saved_data["keep_factor"] = keep_factor;
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& values = saved[0];
    const at::Tensor out_gradient = gradients[0].contiguous();
    at::Tensor values_gradient = at::empty_like(values);
    const at::Tensor partial = floats(values, {kPartialRows, values.size(1)});
    at::Tensor bias_gradient = floats(values, {values.size(1)});
    bias_gelu_gradient(
        {.values = bits(values),
         .bias = saved[1].const_data_ptr<float>(),
         .out_gradient = bits(out_gradient),
         .values_gradient = writable_bits(values_gradient),
         .partial = partial.mutable_data_ptr<float>(),
         .bias_gradient = bias_gradient.mutable_data_ptr<float>(),
         .rows = values.size(0),
         .columns = values.size(1),
         .rectifies = context->saved_data["rectifies"].toBool(),
         .keep = bytes_of(saved.size() > 2 ? Maybe(saved[2]) : Maybe()),
         .keep_factor = static_cast<float>(context->saved_data["keep_factor"].toDouble())},
        stream_of(values));
    return {values_gradient, bias_gradient, {}, {}, {}};
  }
};

// The gradient takes the place of the logits.
class CrossEntropyFunction final : public Function<CrossEntropyFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& logits,
                            const at::Tensor& targets, const CrossEntropyOptions& options) {
    const at::Tensor factor = (targets != options.ignored).sum().to(at::kFloat).reciprocal();
    at::Tensor losses = floats(logits, {logits.size(0)});
    cross_entropy({.logits = writable_bits(logits),
                   .targets = targets.const_data_ptr<std::int64_t>(),
                   .losses = losses.mutable_data_ptr<float>(),
                   .factor = factor.const_data_ptr<float>(),
                   .rows = logits.size(0),
                   .stride = logits.stride(0),
                   .columns = logits.size(1),
                   .ignored = options.ignored,
                   .smoothing = static_cast<float>(options.smoothing)},
                  stream_of(logits));
    context->save_for_backward({logits});
    return losses.sum() * factor;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::Tensor logits = context->get_saved_variables()[0].detach();
    const at::Tensor factor = gradients[0].to(at::kFloat).contiguous();
    scale_rows(writable_bits(logits), logits.size(0), logits.stride(0), logits.size(1),
               factor.const_data_ptr<float>(), stream_of(logits));
    return {logits, {}, {}};
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
  return joined_linear(x, {&weight, 1}, {&bias, bias.parameter.defined() ? 1u : 0u});
}

at::Tensor joined_linear(const at::Tensor& x, std::span<const Copied> weights,
                         std::span<const Copied> biases) {
  if (x.is_cuda() && weights.front().copy.defined()) {
    variable_list lists[4];
    for (const Copied& weight : weights) {
      lists[0].push_back(weight.parameter);
      lists[1].push_back(weight.copy);
    }
    for (const Copied& bias : biases) {
      lists[2].push_back(bias.parameter);
      lists[3].push_back(bias.copy);
    }
    return LinearFunction::apply(x, at::TensorList(lists[0]), at::TensorList(lists[1]),
                                 at::TensorList(lists[2]), at::TensorList(lists[3]));
  }
  variable_list results;
  for (std::size_t part = 0; part < weights.size(); ++part) {
    at::Tensor products = at::linear(x, weights[part].parameter.to(x.scalar_type()));
    results.push_back(biases.empty() ? products
                                     : products + biases[part].parameter.to(x.scalar_type()));
  }
  return results.size() == 1 ? results[0] : at::cat(results, 1);
}

Dropouts::Dropouts(double probability, std::int64_t layers, std::int64_t rows, std::int64_t width,
                   const at::Device& device)
    : factor_(1 / (1 - probability)) {
  if (probability > 0) {
    keep_ = at::empty({layers, rows, width}, at::TensorOptions(device).dtype(at::kByte))
                .bernoulli_(1 - probability);
  }
}

Dropout Dropouts::next() { return keep_.defined() ? Dropout{keep_[next_++], factor_} : Dropout{}; }

std::pair<at::Tensor, at::Tensor> add_norm(const at::Tensor& x, const at::Tensor& branch,
                                           const at::Tensor& bias, const NormParameters& norm,
                                           const Dropout& dropout) {
  if (is_fusible(branch) && x.scalar_type() == at::kFloat && x.is_contiguous() &&
      add_norm_supports(branch.size(1))) {
    const variable_list both = AddNormFunction::apply(
        x, branch, bias, norm.gain, norm.shift, norm.epsilon, maybe(dropout.keep), dropout.factor);
    return {both[0], both[1]};
  }
  const at::Tensor repeated =
      x.size(0) < branch.size(0) ? x.repeat({branch.size(0) / x.size(0), 1}) : x;
  const at::Tensor sum = repeated + dropped(branch.to(at::kFloat) + bias, dropout);
  return {sum, at::layer_norm(sum, {sum.size(1)}, norm.gain, norm.shift, norm.epsilon)
                   .to(branch.scalar_type())};
}

std::pair<at::Tensor, at::Tensor> norm_of_sum(const at::Tensor& x, const at::Tensor& branch,
                                              const at::Tensor& bias, const NormParameters& norm,
                                              const Dropout& dropout) {
  if (is_fusible(branch) && is_fusible(x) && add_norm_supports(branch.size(1))) {
    const variable_list both = AddNormFunction::apply(
        x, branch, bias, norm.gain, norm.shift, norm.epsilon, maybe(dropout.keep), dropout.factor);
    return {both[0], both[1]};
  }
  const at::Tensor sum = x.to(at::kFloat) + dropped(branch.to(at::kFloat) + bias, dropout);
  const at::Tensor normalized =
      at::layer_norm(sum, {sum.size(1)}, norm.gain, norm.shift, norm.epsilon)
          .to(branch.scalar_type());
  return {normalized, normalized};
}

at::Tensor bias_gelu(const at::Tensor& values, const at::Tensor& bias) {
  if (is_fusible(values) && has_column_packs(values)) {
    return BiasGeluFunction::apply(values, bias, false, Maybe(), 1.0);
  }
  return at::gelu(values.to(at::kFloat) + bias).to(values.scalar_type());
}

at::Tensor bias_relu(const at::Tensor& values, const at::Tensor& bias, const Dropout& dropout) {
  if (is_fusible(values) && has_column_packs(values)) {
    return BiasGeluFunction::apply(values, bias, true, maybe(dropout.keep), dropout.factor);
  }
  return dropped(at::relu(values.to(at::kFloat) + bias), dropout).to(values.scalar_type());
}

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& targets,
                         const CrossEntropyOptions& options) {
  const bool lies_in_words = logits.is_cuda() && logits.scalar_type() == at::kBFloat16 &&
                             logits.stride(1) == 1 && logits.stride(0) % 8 == 0 &&
                             logits.storage_offset() % 8 == 0;
  if (lies_in_words && logits.size(1) <= kMostClasses && logits.requires_grad() &&
      at::GradMode::is_enabled()) {
    return CrossEntropyFunction::apply(logits, targets.contiguous(), options);
  }
  return at::cross_entropy_loss(logits.to(at::kFloat), targets, {}, at::Reduction::Mean,
                                options.ignored, options.smoothing);
}

at::Tensor attention(const at::Tensor& qkv, const AttentionShape& shape) {
  const std::int64_t width = qkv.size(1) / 3;
  const std::int64_t head_width = width / shape.heads;
  if (is_fusible(qkv) && shape.tokens == kAttentionTokens && head_width == kHeadWidth) {
    return ShortAttentionFunction::apply(qkv, shape.batch, shape.heads);
  }
  // The gradient of a split is one copy, in the layout of the product that made qkv.
  const std::vector<at::Tensor> parts = qkv.split(width, 1);
  return attention(parts[0], parts[1], parts[2],
                   MaskedAttention{.batch = shape.batch, .heads = shape.heads});
}

at::Tensor attention(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                     const MaskedAttention& shape) {
  const auto per_head = [&](const at::Tensor& tokens) {  // [batch, heads, tokens, width of a head]
    return tokens.view({shape.batch, -1, shape.heads, tokens.size(1) / shape.heads})
        .transpose(1, 2);
  };
  const std::optional<at::Tensor> mask = maybe(shape.mask);
  return at::scaled_dot_product_attention(per_head(queries), per_head(keys), per_head(values), mask,
                                          shape.dropout, shape.causal)
      .transpose(1, 2)
      .reshape(queries.sizes());
}

}  // namespace sing::lab::fused
