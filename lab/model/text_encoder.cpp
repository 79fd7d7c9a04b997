// Implements BERT's and MPNet's encoders with tensor functions.
#include "lab/model/text_encoder.hpp"

#include <torch/torch.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "lab/fused/packed_rows.hpp"
#include "lab/fused/text_functions.hpp"
#include "lab/model/transformer_block.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::model {
namespace {

::torch::nn::Embedding make_embedding(std::int64_t rows, std::int64_t width) {
  ::torch::nn::Embedding embedding(rows, width);
  const ::torch::NoGradGuard no_gradient;
  embedding->weight.normal_(0, kWeightDeviation);
  return embedding;
}

// The bucket of the distance `key` − `query`: half of the buckets for keys to the right; in each
// half, one bucket per distance for the small ones and then logarithmic ones up to 128 tokens.
at::Tensor distance_buckets(std::int64_t count, std::int64_t buckets, at::Device device) {
  constexpr double kFarthest = 128;
  const at::Tensor places = at::arange(count, at::TensorOptions(at::kLong).device(device));
  const at::Tensor distance = places.unsqueeze(0) - places.unsqueeze(1);  // [query, key]
  const std::int64_t half = buckets / 2;
  const std::int64_t exact = half / 2;
  const at::Tensor size = distance.abs();
  // The order of operations in float32 is that of transformers, because it decides the rounding.
  const at::Tensor far =
      exact + (at::log(size.clamp_min(1).to(at::kFloat) / static_cast<double>(exact)) /
               std::log(kFarthest / static_cast<double>(exact)) * static_cast<double>(half - exact))
                  .to(at::kLong);
  return (distance > 0).to(at::kLong) * half +
         at::where(size < exact, size, far.clamp_max(half - 1));
}

class EmbeddingsImpl final : public ::torch::nn::Module {
 public:
  explicit EmbeddingsImpl(const EncoderShape& shape) : shape_(shape), dropout_(shape.dropout) {
    words_ = register_module("word_embeddings", make_embedding(shape.vocabulary, shape.width));
    positions_ =
        register_module("position_embeddings", make_embedding(shape.positions, shape.width));
    if (shape.types > 0) {
      types_ = register_module("token_type_embeddings", make_embedding(shape.types, shape.width));
    }
    norm_ = register_module("LayerNorm", make_norm(shape.width, shape.norm_epsilon));
  }

  at::Tensor forward(const EncoderInput& input) {
    at::Tensor sum = words_(input.ids);
    if (shape_.kind == EncoderKind::kMpnet) {
      // Filled-up places have the padding's position.
      const at::Tensor tokens = input.is_token.to(at::kLong);
      sum = sum + positions_(tokens.cumsum(1) * tokens + shape_.padding);
    } else {
      sum = sum + types_(input.types) + positions_->weight.slice(0, 0, input.ids.size(1));
    }
    return at::dropout(norm_(sum), dropout_, is_training());
  }

 private:
  EncoderShape shape_;
  double dropout_;
  ::torch::nn::Embedding words_ = nullptr, positions_ = nullptr, types_ = nullptr;
  ::torch::nn::LayerNorm norm_ = nullptr;
};
using Embeddings = ::torch::nn::ModuleHolder<EmbeddingsImpl>;

// Adds the parts of a block under the names that the kind of encoder gives them.
class EncoderBlockImpl final : public ::torch::nn::Module {
 public:
  explicit EncoderBlockImpl(const EncoderShape& shape) : shape_(shape) {
    const auto width = shape.width;
    // A module that only adds its name to those of its parts.
    const auto folder = [](::torch::nn::Module& parent, const char* name) {
      return parent.register_module(name, std::make_shared<::torch::nn::Module>());
    };
    const auto attention = folder(*this, "attention");
    const bool is_mpnet = shape.kind == EncoderKind::kMpnet;
    const auto inner = folder(*attention, is_mpnet ? "attn" : "self");
    query_ = inner->register_module(is_mpnet ? "q" : "query", make_linear(width, width));
    key_ = inner->register_module(is_mpnet ? "k" : "key", make_linear(width, width));
    value_ = inner->register_module(is_mpnet ? "v" : "value", make_linear(width, width));
    const auto mixed = is_mpnet ? inner : folder(*attention, "output");
    mixed_ = mixed->register_module(is_mpnet ? "o" : "dense", make_linear(width, width));
    norm1_ = (is_mpnet ? attention : mixed)
                 ->register_module("LayerNorm", make_norm(shape.width, shape.norm_epsilon));
    up_ = folder(*this, "intermediate")->register_module("dense", make_linear(width, shape.hidden));
    const auto output = folder(*this, "output");
    down_ = output->register_module("dense", make_linear(shape.hidden, width));
    norm2_ = output->register_module("LayerNorm", make_norm(shape.width, shape.norm_epsilon));
  }

  // `mask` is what scaled_dot_product_attention takes.
  at::Tensor forward(const at::Tensor& tokens, const at::Tensor& mask) {
    const auto per_head = [&](const at::Tensor& features) {  // [B, heads, T, width of a head]
      return features.view({tokens.size(0), tokens.size(1), shape_.heads, -1}).transpose(1, 2);
    };
    const at::Tensor attended = at::scaled_dot_product_attention(
        per_head(query_(tokens)), per_head(key_(tokens)), per_head(value_(tokens)), mask,
        is_training() ? shape_.attention_dropout : 0.0);
    const at::Tensor mixed = mixed_(attended.transpose(1, 2).reshape(tokens.sizes()));
    const at::Tensor after = norm1_(dropped(mixed) + tokens);
    return norm2_(dropped(down_(at::gelu(up_(after)))) + after);
  }

  struct Layers {
    const ::torch::nn::LinearImpl &query, &key, &value, &mixed;
    const ::torch::nn::LayerNormImpl& norm1;
    const ::torch::nn::LinearImpl &up, &down;
    const ::torch::nn::LayerNormImpl& norm2;
  };
  Layers layers() const {
    return {*query_, *key_, *value_, *mixed_, *norm1_, *up_, *down_, *norm2_};
  }

 private:
  at::Tensor dropped(const at::Tensor& features) const {
    return at::dropout(features, shape_.dropout, is_training());
  }

  EncoderShape shape_;
  ::torch::nn::Linear query_ = nullptr, key_ = nullptr, value_ = nullptr, mixed_ = nullptr;
  ::torch::nn::LayerNorm norm1_ = nullptr;
  ::torch::nn::Linear up_ = nullptr, down_ = nullptr;
  ::torch::nn::LayerNorm norm2_ = nullptr;
};
using EncoderBlock = ::torch::nn::ModuleHolder<EncoderBlockImpl>;

class StackImpl final : public ::torch::nn::Module {
 public:
  explicit StackImpl(const EncoderShape& shape) : shape_(shape) {
    const auto list = register_module("layer", ::torch::nn::ModuleList());
    for (std::int64_t block = 0; block < shape.depth; ++block) {
      blocks_.emplace_back(shape);
      list->push_back(blocks_.back());
    }
    if (shape.kind == EncoderKind::kMpnet) {
      distances_ =
          register_module("relative_attention_bias", make_embedding(shape.buckets, shape.heads));
    }
  }

  at::Tensor forward(at::Tensor tokens, const at::Tensor& is_token) {
    const at::Tensor mask = attention_mask(tokens, is_token.unsqueeze(1).unsqueeze(1));
    for (EncoderBlock& block : blocks_) {
      tokens = block(tokens, mask);
    }
    return tokens;
  }

  at::Tensor fused_forward(const at::Tensor& tokens, const at::Tensor& is_token,
                           const WeightCopies& copies) {
    const at::Tensor half = tokens.to(at::kBFloat16);
    const double attention_dropout = is_training() ? shape_.attention_dropout : 0;
    // A bias for the distance of two tokens needs padded rows.
    const bool packs = distances_.is_empty();
    const fused::PackedRows order = packs ? fused::pack_rows(is_token) : fused::PackedRows{};
    const at::Tensor mask =
        packs ? at::Tensor() : attention_mask(half, is_token.unsqueeze(1).unsqueeze(1));
    const auto attended = [&](const std::vector<at::Tensor>& parts) {
      return packs ? fused::attention(parts[0], order, parts[1], parts[2], order,
                                      {.heads = shape_.heads, .dropout = attention_dropout})
                   : fused::attention(parts[0], parts[1], parts[2],
                                      {.batch = half.size(0),
                                       .heads = shape_.heads,
                                       .mask = mask,
                                       .dropout = attention_dropout});
    };
    fused::Dropouts dropouts(is_training() ? shape_.dropout : 0, 2 * shape_.depth,
                             half.size(0) * half.size(1), shape_.width, half.device());
    // The products read `rows`, and the residual sum the same values as `residual`. A product's
    // bias is added where its result is next read.
    at::Tensor rows = packs ? fused::packed(half, order) : half.flatten(0, 1);
    at::Tensor residual = rows;
    const auto add = [&](const at::Tensor& branch, const ::torch::nn::LinearImpl& linear,
                         const ::torch::nn::LayerNormImpl& norm) {
      std::tie(rows, residual) =
          fused::norm_of_sum(residual, fused::linear(branch, copies.of(linear.weight)), linear.bias,
                             {norm.weight, norm.bias, shape_.norm_epsilon}, dropouts.next());
    };
    for (const EncoderBlock& block : blocks_) {
      const EncoderBlockImpl::Layers at = block->layers();
      const std::array weights = {copies.of(at.query.weight), copies.of(at.key.weight),
                                  copies.of(at.value.weight)};
      const std::array biases = {copies.of(at.query.bias), copies.of(at.key.bias),
                                 copies.of(at.value.bias)};
      add(attended(fused::joined_linear(rows, weights, biases).split(shape_.width, 1)), at.mixed,
          at.norm1);
      add(fused::bias_gelu(fused::linear(rows, copies.of(at.up.weight)), at.up.bias), at.down,
          at.norm2);
    }
    return packs ? fused::padded(rows, order) : rows.view(half.sizes());
  }

  const std::vector<EncoderBlock>& blocks() const { return blocks_; }

 private:
  at::Tensor attention_mask(const at::Tensor& tokens, const at::Tensor& is_key) {
    if (distances_.is_empty()) {
      return is_key;
    }
    const at::Tensor buckets = distance_buckets(tokens.size(1), shape_.buckets, tokens.device());
    const at::Tensor bias = distances_(buckets).permute({2, 0, 1}).unsqueeze(0);
    return bias.masked_fill(is_key.logical_not(), -INFINITY).to(tokens.scalar_type());
  }

  EncoderShape shape_;
  std::vector<EncoderBlock> blocks_;
  ::torch::nn::Embedding distances_ = nullptr;
};
using Stack = ::torch::nn::ModuleHolder<StackImpl>;

class PoolerLayerImpl final : public ::torch::nn::Module {
 public:
  explicit PoolerLayerImpl(std::int64_t width)
      : dense_(register_module("dense", make_linear(width, width))) {}
  at::Tensor forward(const at::Tensor& hidden) { return at::tanh(dense_(hidden.select(1, 0))); }

 private:
  ::torch::nn::Linear dense_;
};
using PoolerLayer = ::torch::nn::ModuleHolder<PoolerLayerImpl>;

}  // namespace

struct TextEncoderImpl::Parts {
  Embeddings embeddings = nullptr;
  Stack stack = nullptr;
  PoolerLayer pooler = nullptr;
};

TextEncoderImpl::TextEncoderImpl(const EncoderShape& shape, Pooler pooler)
    : shape_(shape), parts_(std::make_unique<Parts>()) {
  parts_->embeddings = register_module("embeddings", Embeddings(shape));
  parts_->stack = register_module("encoder", Stack(shape));
  if (pooler == Pooler::kFirstToken) {
    parts_->pooler = register_module("pooler", PoolerLayer(shape.width));
  }
}

TextEncoderImpl::~TextEncoderImpl() = default;

void TextEncoderImpl::check_length(const EncoderInput& input) const {
  SING_CHECK(input.ids.size(1) <= shape_.longest(),
             "[encoder] wanted sequences of at most {} tokens, got {}", shape_.longest(),
             input.ids.size(1));
}

at::Tensor TextEncoderImpl::forward(const EncoderInput& input) {
  check_length(input);
  return parts_->stack(parts_->embeddings(input), input.is_token);
}

at::Tensor TextEncoderImpl::fused_forward(const EncoderInput& input, const WeightCopies& copies) {
  check_length(input);
  return parts_->stack->fused_forward(parts_->embeddings(input), input.is_token, copies);
}

std::vector<at::Tensor> TextEncoderImpl::copied_parameters() const {
  std::vector<at::Tensor> list;
  for (const EncoderBlock& block : parts_->stack->blocks()) {
    const EncoderBlockImpl::Layers at = block->layers();
    list.insert(list.end(),
                {at.query.weight, at.query.bias, at.key.weight, at.key.bias, at.value.weight,
                 at.value.bias, at.mixed.weight, at.up.weight, at.down.weight});
  }
  return list;
}

WeightNames encoder_weight_names(Pooler pooler) {
  WeightNames names = {
      .prefixes = {"bert.", "mpnet."},
      .ignored = {"cls.", "lm_head.", "qa_outputs.", "classifier.", "embeddings.position_ids"}};
  if (pooler == Pooler::kNone) {
    names.ignored.emplace_back("pooler.");
  }
  return names;
}

at::Tensor TextEncoderImpl::pooled(const at::Tensor& hidden) { return parts_->pooler(hidden); }

}  // namespace sing::lab::model
