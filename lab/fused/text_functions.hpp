// Declares the differentiable layers that models of text have beyond those of functions.hpp: with
// dropout, with several products of the same rows, with masks, and the loss.
#pragma once

#include <cstdint>
#include <span>

#include "lab/fused/functions.hpp"

namespace sing::lab::fused {

// The results of several layers `linear` that read the same rows, side by side.
at::Tensor joined_linear(const at::Tensor& x, std::span<const Copied> weights,
                         std::span<const Copied> biases);

// Draws the dropout of several layers at once.
class Dropouts {
 public:
  // Layers of [rows, width]. A probability of 0 draws nothing.
  Dropouts(double probability, std::int64_t layers, std::int64_t rows, std::int64_t width,
           const at::Device& device);
  // Returns the next layer's, in their order.
  Dropout next();

 private:
  at::Tensor keep_;
  double factor_;
  std::int64_t next_ = 0;
};

// Returns the LayerNorm of x + dropout(branch + bias), once for each of two readers, whose
// gradients the kernel adds up. x has the branch's type and shape.
std::pair<at::Tensor, at::Tensor> norm_of_sum(const at::Tensor& x, const at::Tensor& branch,
                                              const at::Tensor& bias, const NormParameters& norm,
                                              const Dropout& dropout);

// dropout(max(0, values + bias)).
at::Tensor bias_relu(const at::Tensor& values, const at::Tensor& bias, const Dropout& dropout);

struct MaskedAttention {
  std::int64_t batch, heads;
  at::Tensor mask = {};  // as scaled_dot_product_attention takes it, or undefined
  double dropout = 0;    // of the weights
  bool causal = false;   // a token sees itself and earlier tokens only
};

// softmax(q kᵀ / √width) v for queries [batch · tokens, features] and the keys and values of the
// same or other tokens, [batch · others, features].
at::Tensor attention(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                     const MaskedAttention& shape);

struct CrossEntropyOptions {
  double smoothing = 0;  // share of the target that is spread over all classes
  std::int64_t ignored = -100;
};

// The mean of the cross-entropies of logits [rows, classes] and targets int64 [rows] that are not
// ignored. The kernel writes the gradient where the logits were: nothing else may read them.
at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& targets,
                         const CrossEntropyOptions& options);

}  // namespace sing::lab::fused
