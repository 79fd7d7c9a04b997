// The layers of a transformer as few passes over memory, differentiable.
//
// Each function is one CUDA kernel forward and one or two backward where the tensors lie on a GPU
// in bf16 and the shape allows it; elsewhere it is its plain twin, composed of torch's functions,
// which is also what the tests compare it with.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>

namespace sing::lab::fused {

// A parameter and the copy of it that matrix products read, which the optimizer writes.
struct Copied {
  at::Tensor parameter;
  at::Tensor copy;
};

// x Wᵀ (+ b) for x [rows, in]; the parameters get float32 gradients without a rounding in between.
at::Tensor linear(const at::Tensor& x, const Copied& weight, const Copied& bias = {});

struct NormParameters {
  at::Tensor gain, shift;  // [width]
  double epsilon;
};

// sum = x + branch + bias and its LayerNorm, of rows [rows, width]. x, float32, may have fewer rows
// and is then repeated. The second has the branch's type.
std::pair<at::Tensor, at::Tensor> add_norm(const at::Tensor& x, const at::Tensor& branch,
                                           const at::Tensor& bias, const NormParameters& norm);

// GELU(values + bias), the exact one.
at::Tensor bias_gelu(const at::Tensor& values, const at::Tensor& bias);

struct AttentionShape {
  std::int64_t batch, tokens, heads;
};

// softmax(q kᵀ / √width) v; qkv [batch · tokens, 3 · heads · width of a head].
at::Tensor attention(const at::Tensor& qkv, const AttentionShape& shape);

}  // namespace sing::lab::fused
