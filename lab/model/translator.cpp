// Implements the encoder-decoder Transformer.
#include "lab/model/translator.hpp"

#include <torch/torch.h>

#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "lab/fused/packed_rows.hpp"
#include "lab/fused/text_functions.hpp"
#include "lab/model/freeze_norms.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::model {
namespace {

::torch::nn::LayerNorm make_translator_norm(std::int64_t width) {
  return ::torch::nn::LayerNorm(::torch::nn::LayerNormOptions({width}));
}

::torch::nn::Linear make_translator_linear(std::int64_t in, std::int64_t out) {
  ::torch::nn::Linear linear(in, out);
  ::torch::nn::init::xavier_uniform_(linear->weight);
  const ::torch::NoGradGuard no_gradient;
  linear->bias.zero_();
  return linear;
}

at::Tensor make_table(std::int64_t pieces, std::int64_t width, std::int64_t padding) {
  at::Tensor table = ::torch::randn({pieces, width}) / std::sqrt(static_cast<double>(width));
  table.select(0, padding).zero_();
  return table;
}

// Keys and values of all heads, [B, heads, S, width of a head].
struct Memory {
  at::Tensor keys, values;
};

class TranslatorAttentionImpl final : public ::torch::nn::Module {
 public:
  explicit TranslatorAttentionImpl(const TranslatorOptions& options)
      : heads_(options.heads), dropout_(options.attention_dropout) {
    k_ = make_input("k_proj", options.width);
    v_ = make_input("v_proj", options.width);
    q_ = make_input("q_proj", options.width);
    out_ = register_module("out_proj", make_translator_linear(options.width, options.width));
  }

  at::Tensor queries(const at::Tensor& states) { return split(q_(states)); }
  Memory memory(const at::Tensor& states) { return {split(k_(states)), split(v_(states))}; }

  // Maps queries [B, heads, T, …] to [B, T, width]. `mask` may be undefined.
  at::Tensor mix(const at::Tensor& queries, const Memory& memory, const at::Tensor& mask,
                 bool causal) {
    const std::optional<at::Tensor> given =
        mask.defined() ? std::optional<at::Tensor>(mask) : std::nullopt;
    const at::Tensor mixed = at::scaled_dot_product_attention(
        queries, memory.keys, memory.values, given, is_training() ? dropout_ : 0.0, causal);
    return out_(mixed.transpose(1, 2).flatten(2));
  }

  const ::torch::nn::LinearImpl& k_proj() const { return *k_; }
  const ::torch::nn::LinearImpl& v_proj() const { return *v_; }
  const ::torch::nn::LinearImpl& q_proj() const { return *q_; }
  const ::torch::nn::LinearImpl& out_proj() const { return *out_; }

 private:
  // As if keys, values and queries came from one matrix three times as high (fairseq).
  ::torch::nn::Linear make_input(const char* name, std::int64_t width) {
    ::torch::nn::Linear linear(width, width);
    ::torch::nn::init::xavier_uniform_(linear->weight, 1 / std::sqrt(2.0));
    return register_module(name, linear);
  }

  at::Tensor split(const at::Tensor& states) const {
    return states.unflatten(2, {heads_, states.size(2) / heads_}).transpose(1, 2);
  }

  std::int64_t heads_;
  double dropout_;
  ::torch::nn::Linear k_ = nullptr, v_ = nullptr, q_ = nullptr, out_ = nullptr;
};
using TranslatorAttention = ::torch::nn::ModuleHolder<TranslatorAttentionImpl>;

// A layer of the encoder, or with attention to the source, of the decoder.
class LayerImpl final : public ::torch::nn::Module {
 public:
  LayerImpl(const TranslatorOptions& options, bool reads_source) : options_(options) {
    self_attention_ = register_module("self_attn", TranslatorAttention(options));
    self_norm_ = register_module("self_attn_layer_norm", make_translator_norm(options.width));
    if (reads_source) {
      source_attention_ = register_module("encoder_attn", TranslatorAttention(options));
      source_norm_ =
          register_module("encoder_attn_layer_norm", make_translator_norm(options.width));
    }
    fc1_ = register_module("fc1", make_translator_linear(options.width, options.feed_forward));
    fc2_ = register_module("fc2", make_translator_linear(options.feed_forward, options.width));
    final_norm_ = register_module("final_layer_norm", make_translator_norm(options.width));
  }

  at::Tensor encode(const at::Tensor& states, const at::Tensor& mask) {
    const at::Tensor normed = self_norm_(states);
    return feed_forward(
        states + dropped(self_attention_->mix(self_attention_->queries(normed),
                                              self_attention_->memory(normed), mask, false)));
  }

  at::Tensor decode(const at::Tensor& states, const EncodedSource& source) {
    const at::Tensor normed = self_norm_(states);
    const at::Tensor after =
        states + dropped(self_attention_->mix(self_attention_->queries(normed),
                                              self_attention_->memory(normed), {}, true));
    return feed_forward(attend(after, source_attention_->memory(source.states), source.mask));
  }

  Memory source_memory(const at::Tensor& states) { return source_attention_->memory(states); }

  // States [B, K, width] of one position. The hypotheses of a sentence are the queries of one
  // attention to its source. Appends to `self`, whose tensors are undefined at the first position.
  at::Tensor step(const at::Tensor& states, Memory& self, const Memory& source,
                  const at::Tensor& mask) {
    const at::Tensor normed = self_norm_(states).flatten(0, 1).unsqueeze(1);
    const Memory now = self_attention_->memory(normed);
    const bool first = !self.keys.defined();
    self.keys = first ? now.keys : at::cat({self.keys, now.keys}, 2);
    self.values = first ? now.values : at::cat({self.values, now.values}, 2);
    const at::Tensor mixed =
        self_attention_->mix(self_attention_->queries(normed), self, {}, false);
    return feed_forward(attend(states + dropped(mixed.view_as(states)), source, mask));
  }

  const TranslatorAttentionImpl& self_attention() const { return *self_attention_; }
  const TranslatorAttentionImpl& source_attention() const { return *source_attention_; }
  bool reads_source() const { return !source_attention_.is_empty(); }
  const ::torch::nn::LayerNormImpl& self_norm() const { return *self_norm_; }
  const ::torch::nn::LayerNormImpl& source_norm() const { return *source_norm_; }
  const ::torch::nn::LayerNormImpl& final_norm() const { return *final_norm_; }
  const ::torch::nn::LinearImpl& fc1() const { return *fc1_; }
  const ::torch::nn::LinearImpl& fc2() const { return *fc2_; }

 private:
  at::Tensor dropped(const at::Tensor& states) const {
    return at::dropout(states, options_.dropout, is_training());
  }

  at::Tensor attend(const at::Tensor& states, const Memory& source, const at::Tensor& mask) {
    const at::Tensor queries = source_attention_->queries(source_norm_(states));
    return states + dropped(source_attention_->mix(queries, source, mask, false));
  }

  at::Tensor feed_forward(const at::Tensor& states) {
    const at::Tensor hidden = at::dropout(at::relu(fc1_(final_norm_(states))),
                                          options_.activation_dropout, is_training());
    return states + dropped(fc2_(hidden));
  }

  TranslatorOptions options_;
  TranslatorAttention self_attention_ = nullptr, source_attention_ = nullptr;
  ::torch::nn::LayerNorm self_norm_ = nullptr, source_norm_ = nullptr, final_norm_ = nullptr;
  ::torch::nn::Linear fc1_ = nullptr, fc2_ = nullptr;
};
using Layer = ::torch::nn::ModuleHolder<LayerImpl>;

// A table, layers and a last normalization.
class TranslatorStackImpl final : public ::torch::nn::Module {
 public:
  // An undefined table is that of another stack.
  TranslatorStackImpl(const TranslatorOptions& options, const at::Tensor& own_table,
                      bool reads_source) {
    if (own_table.defined()) {
      table = register_parameter("embed_tokens", own_table);
    }
    const auto list = register_module("layers", ::torch::nn::ModuleList());
    for (std::int64_t layer = 0; layer < options.layers; ++layer) {
      layers.emplace_back(options, reads_source);
      list->push_back(layers.back());
    }
    norm = register_module("layer_norm", make_translator_norm(options.width));
  }

  at::Tensor table;
  std::vector<Layer> layers;
  ::torch::nn::LayerNorm norm = nullptr;
};
using TranslatorStack = ::torch::nn::ModuleHolder<TranslatorStackImpl>;

// The packed rows [B · T, width] of a stack on their way through its fused layers: the residual sum
// and the normalization that the next layer reads. A product's bias is added where its result is
// next read.
class FusedRows {
 public:
  FusedRows(const TranslatorOptions& options, const WeightCopies& copies,
            const at::Tensor& embedded, const fused::PackedRows& rows,
            const TranslatorStackImpl& stack, bool training)
      : options_(options),
        copies_(copies),
        stack_(stack),
        rows_(rows),
        attention_dropout_(training ? options.attention_dropout : 0),
        sum_(embedded),
        dropouts_(training ? options.dropout : 0,
                  options.layers * (stack.layers.front()->reads_source() ? 3 : 2), sum_.size(0),
                  sum_.size(1), sum_.device()),
        inner_dropouts_(training ? options.activation_dropout : 0, options.layers, sum_.size(0),
                        options.feed_forward, sum_.device()) {
    const ::torch::nn::LayerNormImpl& norm = stack.layers.front()->self_norm();
    normalized_ = at::layer_norm(sum_, {sum_.size(1)}, norm.weight, norm.bias, norm.options.eps())
                      .to(at::kBFloat16);
  }

  const at::Tensor& normalized() const { return normalized_; }

  void attend_to_itself(std::size_t layer) {
    const LayerImpl& at = *stack_.layers[layer];
    const TranslatorAttentionImpl& attention = at.self_attention();
    const std::array inputs = {&attention.q_proj(), &attention.k_proj(), &attention.v_proj()};
    const std::vector<at::Tensor> parts = products(normalized_, inputs);
    const at::Tensor mixed = fused::attention(
        parts[0], rows_, parts[1], parts[2], rows_,
        {.heads = options_.heads, .dropout = attention_dropout_, .causal = at.reads_source()});
    add(mixed, attention.out_proj(), at.reads_source() ? at.source_norm() : at.final_norm());
  }

  void attend_to_source(std::size_t layer, const at::Tensor& keys, const at::Tensor& values,
                        const fused::PackedRows& source) {
    const LayerImpl& at = *stack_.layers[layer];
    const TranslatorAttentionImpl& attention = at.source_attention();
    const std::array inputs = {&attention.q_proj()};
    const at::Tensor mixed =
        fused::attention(products(normalized_, inputs)[0], rows_, keys, values, source,
                         {.heads = options_.heads, .dropout = attention_dropout_});
    add(mixed, attention.out_proj(), at.final_norm());
  }

  void feed_forward(std::size_t layer) {
    const LayerImpl& at = *stack_.layers[layer];
    const bool last = layer + 1 == stack_.layers.size();
    const at::Tensor hidden =
        fused::bias_relu(fused::linear(normalized_, copies_.of(at.fc1().weight)), at.fc1().bias,
                         inner_dropouts_.next());
    add(hidden, at.fc2(), last ? *stack_.norm : stack_.layers[layer + 1]->self_norm());
  }

  // Returns the results of layers that read the same rows.
  std::vector<at::Tensor> products(const at::Tensor& rows,
                                   std::span<const ::torch::nn::LinearImpl* const> layers) const {
    std::vector<fused::Copied> weights, biases;
    for (const ::torch::nn::LinearImpl* const layer : layers) {
      weights.push_back(copies_.of(layer->weight));
      biases.push_back(copies_.of(layer->bias));
    }
    return fused::joined_linear(rows, weights, biases).split(options_.width, 1);
  }

 private:
  void add(const at::Tensor& branch, const ::torch::nn::LinearImpl& linear,
           const ::torch::nn::LayerNormImpl& next) {
    std::tie(sum_, normalized_) =
        fused::add_norm(sum_, fused::linear(branch, copies_.of(linear.weight)), linear.bias,
                        {next.weight, next.bias, next.options.eps()}, dropouts_.next());
  }

  const TranslatorOptions& options_;
  const WeightCopies& copies_;
  const TranslatorStackImpl& stack_;
  const fused::PackedRows& rows_;
  double attention_dropout_;
  at::Tensor sum_, normalized_;
  fused::Dropouts dropouts_, inner_dropouts_;
};

}  // namespace

at::Tensor sinusoidal_positions(std::int64_t first, std::int64_t count, std::int64_t width,
                                const at::TensorOptions& options) {
  const std::int64_t half = width / 2;
  const double step = half > 1 ? std::log(10000.0) / static_cast<double>(half - 1) : 0;
  const at::Tensor frequencies = at::exp(at::arange(half, options.dtype(at::kFloat)) * -step);
  const at::Tensor angles =
      at::arange(first, first + count, options.dtype(at::kFloat)).unsqueeze(1) * frequencies;
  return at::cat({at::sin(angles), at::cos(angles)}, 1);
}

void DecoderCache::select(const at::Tensor& sentences, const at::Tensor& hypotheses) {
  for (auto* const list : {&self_keys, &self_values}) {
    for (at::Tensor& each : *list) {
      each = each.index_select(0, hypotheses);
    }
  }
  if (sentences.size(0) == mask.size(0)) {
    return;  // all of them, in their order
  }
  for (auto* const list : {&source_keys, &source_values}) {
    for (at::Tensor& each : *list) {
      each = each.index_select(0, sentences);
    }
  }
  mask = mask.index_select(0, sentences);
}

struct TranslatorImpl::Parts {
  TranslatorStack encoder = nullptr;
  TranslatorStack decoder = nullptr;
};

TranslatorImpl::TranslatorImpl(const TranslatorOptions& options, const TranslatorShape& shape)
    : options_(options), shape_(shape), parts_(std::make_unique<Parts>()) {
  validate(options, "translator");
  SING_CHECK(options.width % 2 == 0 && options.width % options.heads == 0,
             "[translator] wanted an even width that the {} heads divide, got {}", options.heads,
             options.width);
  SING_CHECK(!options.share_embeddings || shape.source_pieces == shape.target_pieces,
             "[translator] wanted share_embeddings only with one vocabulary, got {} source and {} "
             "target pieces",
             shape.source_pieces, shape.target_pieces);
  const at::Tensor source_table =
      options.share_embeddings ? at::Tensor()
                               : make_table(shape.source_pieces, options.width, shape.padding);
  parts_->encoder = register_module("encoder", TranslatorStack(options, source_table, false));
  parts_->decoder = register_module(
      "decoder", TranslatorStack(
                     options, make_table(shape.target_pieces, options.width, shape.padding), true));
  if (options.freeze_norms) {
    model::freeze_norms(*this);
  }
}

TranslatorImpl::~TranslatorImpl() = default;

// Position 0 of a sentence has the number after that of padding, as in fairseq.
at::Tensor TranslatorImpl::embed(const at::Tensor& table, const at::Tensor& pieces,
                                 std::int64_t first) {
  const at::Tensor positions =
      sinusoidal_positions(first + shape_.padding + 1, pieces.size(1), options_.width,
                           at::TensorOptions(table.device()))
          .to(table.scalar_type());
  const at::Tensor embedded = at::embedding(table, pieces, shape_.padding) *
                                  std::sqrt(static_cast<double>(options_.width)) +
                              positions;
  return at::dropout(embedded, options_.dropout, is_training());
}

const at::Tensor& TranslatorImpl::source_table() const {
  return options_.share_embeddings ? parts_->decoder->table : parts_->encoder->table;
}

std::vector<at::Tensor> TranslatorImpl::copied_parameters() const {
  std::vector<at::Tensor> list = {parts_->decoder->table};
  const auto add = [&](const TranslatorAttentionImpl& attention) {
    for (const ::torch::nn::LinearImpl* const each :
         {&attention.q_proj(), &attention.k_proj(), &attention.v_proj()}) {
      list.insert(list.end(), {each->weight, each->bias});
    }
    list.push_back(attention.out_proj().weight);
  };
  for (const TranslatorStack& stack : {parts_->encoder, parts_->decoder}) {
    for (const Layer& layer : stack->layers) {
      add(layer->self_attention());
      if (layer->reads_source()) {
        add(layer->source_attention());
      }
      list.insert(list.end(), {layer->fc1().weight, layer->fc2().weight});
    }
  }
  return list;
}

at::Tensor TranslatorImpl::fused_forward(const at::Tensor& source, const at::Tensor& target,
                                         const fused::PackedRows& target_rows,
                                         const WeightCopies& copies) {
  const fused::PackedRows source_rows = fused::pack_rows(source != shape_.padding);
  const auto embedded = [&](const at::Tensor& table, const at::Tensor& pieces,
                            const fused::PackedRows& rows) {
    return fused::packed(embed(table, pieces, 0), rows);
  };
  FusedRows encoder(options_, copies, embedded(source_table(), source, source_rows), source_rows,
                    *parts_->encoder, is_training());
  for (std::size_t layer = 0; layer < parts_->encoder->layers.size(); ++layer) {
    encoder.attend_to_itself(layer);
    encoder.feed_forward(layer);
  }
  FusedRows decoder(options_, copies, embedded(parts_->decoder->table, target, target_rows),
                    target_rows, *parts_->decoder, is_training());
  std::vector<const ::torch::nn::LinearImpl*> inputs;  // of all layers: they read the same rows
  for (const Layer& layer : parts_->decoder->layers) {
    inputs.insert(inputs.end(),
                  {&layer->source_attention().k_proj(), &layer->source_attention().v_proj()});
  }
  const std::vector<at::Tensor> memory = decoder.products(encoder.normalized(), inputs);
  for (std::size_t layer = 0; layer < parts_->decoder->layers.size(); ++layer) {
    decoder.attend_to_itself(layer);
    decoder.attend_to_source(layer, memory[2 * layer], memory[2 * layer + 1], source_rows);
    decoder.feed_forward(layer);
  }
  return fused::linear(decoder.normalized(), copies.of(parts_->decoder->table));
}

EncodedSource TranslatorImpl::encode(const at::Tensor& source) {
  const at::Tensor mask = (source != shape_.padding).unsqueeze(1).unsqueeze(1);
  const TranslatorStack& encoder = parts_->encoder;
  at::Tensor states = embed(source_table(), source, 0);
  for (Layer layer : encoder->layers) {
    states = layer->encode(states, mask);
  }
  return {parts_->encoder->norm(states), mask};
}

at::Tensor TranslatorImpl::decode(const EncodedSource& source, const at::Tensor& target) {
  at::Tensor states = embed(parts_->decoder->table, target, 0);
  for (Layer layer : parts_->decoder->layers) {
    states = layer->decode(states, source);
  }
  return at::linear(parts_->decoder->norm(states), parts_->decoder->table);
}

at::Tensor TranslatorImpl::forward(const at::Tensor& source, const at::Tensor& target) {
  return decode(encode(source), target);
}

DecoderCache TranslatorImpl::start(const EncodedSource& source) {
  DecoderCache cache;
  cache.mask = source.mask;
  for (Layer layer : parts_->decoder->layers) {
    Memory memory = layer->source_memory(source.states);
    cache.source_keys.push_back(std::move(memory.keys));
    cache.source_values.push_back(std::move(memory.values));
  }
  cache.self_keys.resize(parts_->decoder->layers.size());
  cache.self_values.resize(parts_->decoder->layers.size());
  return cache;
}

at::Tensor TranslatorImpl::step(DecoderCache& cache, const at::Tensor& pieces) {
  const at::Tensor flat = pieces.flatten().unsqueeze(1);
  at::Tensor states =
      embed(parts_->decoder->table, flat, cache.length).view({pieces.size(0), pieces.size(1), -1});
  for (std::size_t place = 0; place < parts_->decoder->layers.size(); ++place) {
    Memory self = {cache.self_keys[place], cache.self_values[place]};
    states = parts_->decoder->layers[place]->step(
        states, self, {cache.source_keys[place], cache.source_values[place]}, cache.mask);
    cache.self_keys[place] = self.keys;
    cache.self_values[place] = self.values;
  }
  ++cache.length;
  return at::linear(parts_->decoder->norm(states), parts_->decoder->table);
}

}  // namespace sing::lab::model
