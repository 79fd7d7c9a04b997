// Declares the differentiable layers of a transformer, with few passes over memory.
//
// On a GPU in bf16, and if the shape allows it, each function is one CUDA kernel forward and one or
// two backward. Otherwise it is composed of torch's functions; the tests compare the kernels with
// this plain version.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>

namespace sing::lab::fused {

// A parameter and its copy, which the optimizer writes and matrix products read.
struct Copied {
  at::Tensor parameter;
  at::Tensor copy;
};

// x Wᵀ (+ b) for x [rows, in]; the parameters' gradients are float32 and rounded only once.
at::Tensor linear(const at::Tensor& x, const Copied& weight, const Copied& bias = {});

struct NormParameters {
  at::Tensor gain, shift;  // [width]
  double epsilon;
};

// Dropout of a tensor: each element is multiplied by the factor or by 0.
struct Dropout {
  at::Tensor keep = {};  // uint8 of the tensor's shape, 0 or 1; undefined: no dropout
  double factor = 1;
};

// Returns sum = x + dropout(branch + bias) and its LayerNorm, for rows [rows, width]. x is float32
// and is repeated if it has fewer rows. The LayerNorm has the branch's type.
std::pair<at::Tensor, at::Tensor> add_norm(const at::Tensor& x, const at::Tensor& branch,
                                           const at::Tensor& bias, const NormParameters& norm,
                                           const Dropout& dropout = {});

// Exact GELU(values + bias).
at::Tensor bias_gelu(const at::Tensor& values, const at::Tensor& bias);

struct AttentionShape {
  std::int64_t batch, tokens, heads;
};

// softmax(q kᵀ / √width) v; qkv [batch · tokens, 3 · heads · width of a head].
at::Tensor attention(const at::Tensor& qkv, const AttentionShape& shape);

}  // namespace sing::lab::fused
