// Defines the encoder-decoder Transformer of Vaswani et al. (2017) with normalization before each
// part, in the sizes of fairseq's transformer_iwslt_de_en.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "lab/fused/packed_rows.hpp"
#include "lab/model/weight_copies.hpp"
#include "sing/base/fields.hpp"

namespace sing::lab::model {

struct TranslatorOptions {
  std::int64_t layers = 6;
  std::int64_t width = 512;
  std::int64_t feed_forward = 1024;
  std::int64_t heads = 4;
  double dropout = 0.3;
  double attention_dropout = 0;
  double activation_dropout = 0;
  bool share_embeddings = false;
  bool freeze_norms = false;

  static constexpr auto fields() {
    using T = TranslatorOptions;
    return std::tuple{
        field("layers", &T::layers, "of the encoder, and as many of the decoder", between(1, 1000)),
        field("width", &T::width, "features per piece", between(2, 1e5)),
        field("feed_forward", &T::feed_forward, "features between the two products of a layer",
              between(1, 1e6)),
        field("heads", &T::heads, "attention heads per layer", between(1, 1000)),
        field("dropout", &T::dropout, "of embeddings and of what each part adds",
              from_zero_below(1)),
        field("attention_dropout", &T::attention_dropout, "of attention weights",
              from_zero_below(1)),
        field("activation_dropout", &T::activation_dropout, "after the ReLU", from_zero_below(1)),
        field("share_embeddings", &T::share_embeddings,
              "one table for the source too; the target's table always is the output layer"),
        field("freeze_norms", &T::freeze_norms,
              "keep normalization layers at their initial values")};
  }
};

struct TranslatorShape {
  std::int64_t source_pieces;  // sizes of the vocabularies
  std::int64_t target_pieces;
  std::int64_t padding;  // number of the piece that fills up sentences; positions begin after it
};

// A batch of source sentences as the decoder sees it.
struct EncodedSource {
  at::Tensor states;  // [B, S, width]
  at::Tensor mask;    // bool [B, 1, 1, S], false at padding
};

// Keys and values of a decoder that has read a part of B · K hypotheses, K for each of B source
// sentences.
struct DecoderCache {
  std::int64_t length = 0;                             // pieces read
  std::vector<at::Tensor> self_keys, self_values;      // per layer, [B · K, heads, length, …]
  std::vector<at::Tensor> source_keys, source_values;  // per layer, [B, heads, S, …]
  at::Tensor mask;

  // Keeps these source sentences, numbers [B'], and these hypotheses, numbers [B' · K].
  void select(const at::Tensor& sentences, const at::Tensor& hypotheses);
};

// Parameters have fairseq's names and initial distributions. Sentences are padded at their end.
class TranslatorImpl final : public ::torch::nn::Module {
 public:
  // Throws std::invalid_argument for an odd width, heads that do not divide it, or a shared table
  // for vocabularies of different sizes.
  TranslatorImpl(const TranslatorOptions& options, const TranslatorShape& shape);
  ~TranslatorImpl() override;

  // Maps pieces [B, S] and [B, T] to the logits [B, T, target_pieces] of each next target piece.
  at::Tensor forward(const at::Tensor& source, const at::Tensor& target);

  // The same with fused layers: matrix products in bf16 and residual sums in float32, as under
  // autocast. The logits [B · T, target_pieces] are in the packed order `target_rows` of the
  // targets.
  at::Tensor fused_forward(const at::Tensor& source, const at::Tensor& target,
                           const fused::PackedRows& target_rows, const WeightCopies& copies);
  // Parameters that matrix products read and that therefore need copies on a GPU.
  std::vector<at::Tensor> copied_parameters() const;

  EncodedSource encode(const at::Tensor& source);
  at::Tensor decode(const EncodedSource& source, const at::Tensor& target);

  // The same as decode(), one piece at a time.
  DecoderCache start(const EncodedSource& source);
  // Reads one piece [B, K] of each hypothesis and returns the logits [B, K, target_pieces].
  at::Tensor step(DecoderCache& cache, const at::Tensor& pieces);

 private:
  struct Parts;
  at::Tensor embed(const at::Tensor& table, const at::Tensor& pieces, std::int64_t first);
  const at::Tensor& source_table() const;

  TranslatorOptions options_;
  TranslatorShape shape_;
  std::unique_ptr<Parts> parts_;
};

// Returns fairseq's sinusoidal table of the positions first … first + count − 1, [count, width]:
// sines in the first half, cosines in the second.
at::Tensor sinusoidal_positions(std::int64_t first, std::int64_t count, std::int64_t width,
                                const at::TensorOptions& options);

}  // namespace sing::lab::model
