// Defines language models as in GPT-2: each token's output predicts the next token.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "lab/model/weight_copies.hpp"
#include "sing/base/fields.hpp"

namespace sing::lab::model {

// The parameters of each size, with GPT-2's vocabulary and a context of 1024 tokens, are in
// docs/text.md; k124M is GPT-2 small. Tiny and micro are for CPUs.
enum class GptSize : std::int32_t { kMicro, kTiny, k10M, k30M, k124M };

constexpr auto enum_names(GptSize) {
  return std::to_array<EnumName<GptSize>>({{GptSize::kMicro, "micro"},
                                           {GptSize::kTiny, "tiny"},
                                           {GptSize::k10M, "10m"},
                                           {GptSize::k30M, "30m"},
                                           {GptSize::k124M, "124m"}});
}

// A value of 0 selects that of the named size.
struct GptOptions {
  GptSize size = GptSize::k10M;
  std::int64_t context = 256;
  std::int64_t depth = 0;
  std::int64_t width = 0;
  std::int64_t heads = 0;
  double dropout = 0;
  bool freeze_norms = false;

  static constexpr auto fields() {
    using G = GptOptions;
    return std::tuple{
        field("size", &G::size, "micro, tiny, 10m, 30m or 124m (GPT-2 small)"),
        field("context", &G::context, "tokens that the model sees at once", between(2, 65536)),
        field("depth", &G::depth, "number of blocks; 0: the size's", between(0, 1000)),
        field("width", &G::width, "features per token; 0: the size's", between(0, 1e5)),
        field("heads", &G::heads, "attention heads per block; 0: the size's", between(0, 1000)),
        field("dropout", &G::dropout,
              "share that is dropped of embeddings, attention weights and branches",
              from_zero_below(1)),
        field("freeze_norms", &G::freeze_norms,
              "keep normalization layers at their initial values")};
  }
};

struct GptShape {
  std::int64_t vocabulary, context, depth, width, heads;
  double dropout;
};

// Resolves the options. Throws std::invalid_argument unless the width is a multiple of the heads.
GptShape shape_of(const GptOptions& options, std::int64_t vocabulary);

// Pre-LayerNorm blocks with causal attention and exact GELU, learned positions, and a head that
// shares its weight with the token embedding. Weights are normal with standard deviation 0.02,
// those of the layers that end a branch 0.02 / √(2 depth), as in GPT-2; biases are 0.
class GptImpl final : public ::torch::nn::Module {
 public:
  explicit GptImpl(const GptShape& shape);
  ~GptImpl() override;

  // Maps tokens int64 [B, T], T ≤ context, to logits [B, T, vocabulary].
  at::Tensor forward(const at::Tensor& tokens);

  // The same with fused layers: matrix products in bf16 and residual sums in float32, as under
  // autocast. Models with dropout do not support it.
  bool has_fused_forward() const { return shape_.dropout == 0; }
  // Parameters that matrix products read and that therefore need copies on a GPU.
  std::vector<at::Tensor> copied_parameters() const;
  at::Tensor fused_forward(const at::Tensor& tokens, const WeightCopies& copies);

 private:
  struct Parts;
  GptShape shape_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace sing::lab::model
