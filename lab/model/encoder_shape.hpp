// Defines the sizes of text encoders, by name or as the config.json of a folder of weights has
// them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <tuple>

#include "sing/base/fields.hpp"

namespace sing::lab::model {

// kBert: learned absolute positions and token types (BERT, MiniLM). kMpnet: positions that count
// from the padding token's number + 1, a learned bias per distance of two tokens, no token types.
enum class EncoderKind : std::int32_t { kBert, kMpnet };

constexpr auto enum_names(EncoderKind) {
  return std::to_array<EnumName<EncoderKind>>(
      {{EncoderKind::kBert, "bert"}, {EncoderKind::kMpnet, "mpnet"}});
}

// The values of Hugging Face's config.json under our names.
struct EncoderShape {
  EncoderKind kind = EncoderKind::kBert;
  std::int64_t vocabulary = 0;
  std::int64_t width = 0;      // hidden_size
  std::int64_t depth = 0;      // num_hidden_layers
  std::int64_t heads = 0;      // num_attention_heads
  std::int64_t hidden = 0;     // intermediate_size
  std::int64_t positions = 0;  // max_position_embeddings
  std::int64_t types = 0;      // type_vocab_size; 0 for MPNet
  std::int64_t buckets = 0;    // relative_attention_num_buckets; 0 for BERT
  std::int64_t padding = 0;    // pad_token_id
  double norm_epsilon = 1e-12;
  double dropout = 0.1;            // hidden_dropout_prob
  double attention_dropout = 0.1;  // attention_probs_dropout_prob

  bool operator==(const EncoderShape&) const = default;

  // The most tokens of a sequence.
  std::int64_t longest() const {
    return kind == EncoderKind::kMpnet ? positions - padding - 1 : positions;
  }
};

// kAuto: that of the weights, or kTiny without weights. kTiny is for CPUs.
enum class EncoderSize : std::int32_t { kAuto, kTiny, kMiniLm, kBertBase, kMpnetBase };

constexpr auto enum_names(EncoderSize) {
  return std::to_array<EnumName<EncoderSize>>({{EncoderSize::kAuto, "auto"},
                                               {EncoderSize::kTiny, "encoder-tiny"},
                                               {EncoderSize::kMiniLm, "minilm-l6"},
                                               {EncoderSize::kBertBase, "bert-base"},
                                               {EncoderSize::kMpnetBase, "mpnet-base"}});
}

struct EncoderOptions {
  EncoderSize model = EncoderSize::kAuto;
  double dropout = 0.1;
  bool freeze_norms = false;

  static constexpr auto fields() {
    using O = EncoderOptions;
    return std::tuple{
        field("model", &O::model,
              "encoder-tiny, minilm-l6, bert-base or mpnet-base; auto: that of the weights, or "
              "encoder-tiny without weights"),
        field("dropout", &O::dropout, "share of features and of attention left out in training",
              between(0, 0.99)),
        field("freeze_norms", &O::freeze_norms,
              "keep normalization layers at their initial values")};
  }
};

// The sizes of a named encoder for a vocabulary. kAuto gives those of kTiny.
EncoderShape shape_of(EncoderSize size, std::int64_t vocabulary);

// Reads config.json. Throws FileError for a file that is broken or of an encoder of another kind.
EncoderShape read_encoder_shape(const std::filesystem::path& config);

// Throws std::invalid_argument, naming the first difference, unless the named encoder has the sizes
// of `found`. kAuto fits every encoder.
void check_size(EncoderSize size, const EncoderShape& found);

}  // namespace sing::lab::model
