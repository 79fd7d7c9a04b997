// Lists the named sizes and reads config.json.
#include "lab/model/encoder_shape.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "lab/data/open_file.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::model {
namespace {

using Json = nlohmann::json;

struct NamedEncoder {
  EncoderSize size;
  EncoderShape shape;
};

constexpr EncoderShape bert_shape(std::int64_t width, std::int64_t depth, std::int64_t heads) {
  return {.kind = EncoderKind::kBert,
          .width = width,
          .depth = depth,
          .heads = heads,
          .hidden = 4 * width,
          .positions = 512,
          .types = 2};
}

constexpr std::array<NamedEncoder, 4> kEncoders = {
    {{EncoderSize::kTiny, bert_shape(64, 2, 2)},
     {EncoderSize::kMiniLm, bert_shape(384, 6, 12)},
     {EncoderSize::kBertBase, bert_shape(768, 12, 12)},
     {EncoderSize::kMpnetBase,
      {.kind = EncoderKind::kMpnet,
       .width = 768,
       .depth = 12,
       .heads = 12,
       .hidden = 3072,
       .positions = 514,
       .buckets = 32,
       .padding = 1,
       .norm_epsilon = 1e-5}}}};

template <class Number>
Number number_of(const Json& json, const char* key, const std::string& file) {
  const auto found = json.find(key);
  constexpr bool kIsWhole = std::is_integral_v<Number>;
  if (found == json.end() || !(kIsWhole ? found->is_number_integer() : found->is_number())) {
    throw FileError(fmt::format("[encoder] '{}': wanted a {} '{}', got {}", file,
                                kIsWhole ? "whole number" : "number", key,
                                found == json.end() ? "none" : found->dump()));
  }
  return found->get<Number>();
}

// Refuses what the forward pass does not compute.
void check_text(const Json& json, const char* key, const char* wanted, const std::string& file) {
  const std::string found = json.value(key, std::string(wanted));
  if (found != wanted) {
    throw FileError(
        fmt::format("[encoder] '{}': wanted {} '{}', got '{}'", file, key, wanted, found));
  }
}

EncoderShape shape_of_json(const Json& json, const std::string& file) {
  const auto kind = parse_enum<EncoderKind>(json.value("model_type", std::string("none")));
  if (!kind) {
    throw FileError(fmt::format("[encoder] '{}': wanted model_type {}, got '{}'", file,
                                joined_enum_names<EncoderKind>(),
                                json.value("model_type", std::string("none"))));
  }
  check_text(json, "hidden_act", "gelu", file);
  check_text(json, "position_embedding_type", "absolute", file);
  const bool is_mpnet = *kind == EncoderKind::kMpnet;
  const auto whole = [&](const char* key) { return number_of<std::int64_t>(json, key, file); };
  const EncoderShape shape = {
      .kind = *kind,
      .vocabulary = whole("vocab_size"),
      .width = whole("hidden_size"),
      .depth = whole("num_hidden_layers"),
      .heads = whole("num_attention_heads"),
      .hidden = whole("intermediate_size"),
      .positions = whole("max_position_embeddings"),
      .types = is_mpnet ? 0 : whole("type_vocab_size"),
      .buckets = is_mpnet ? whole("relative_attention_num_buckets") : 0,
      .padding = json.value("pad_token_id", std::int64_t{is_mpnet ? 1 : 0}),
      .norm_epsilon = number_of<double>(json, "layer_norm_eps", file),
      .dropout = number_of<double>(json, "hidden_dropout_prob", file),
      .attention_dropout = number_of<double>(json, "attention_probs_dropout_prob", file)};
  // A quarter of the buckets is for the small distances of one direction.
  const std::int64_t least =
      std::min({shape.vocabulary, shape.width, shape.depth, shape.heads, shape.hidden,
                shape.longest(), is_mpnet ? shape.buckets / 4 : shape.types});
  if (least < 1 || shape.padding < 0 || shape.width % shape.heads != 0) {
    throw FileError(fmt::format(
        "[encoder] '{}': wanted sizes above 0 and heads that divide hidden_size, got {}", file,
        json.dump()));
  }
  return shape;
}

}  // namespace

EncoderShape shape_of(EncoderSize size, std::int64_t vocabulary) {
  for (const NamedEncoder& each : kEncoders) {
    if (each.size == (size == EncoderSize::kAuto ? EncoderSize::kTiny : size)) {
      EncoderShape shape = each.shape;
      shape.vocabulary = vocabulary;
      return shape;
    }
  }
  throw Error(
      fmt::format("[encoder] wanted a size of the table, got number {}", static_cast<int>(size)));
}

EncoderShape read_encoder_shape(const std::filesystem::path& config) {
  std::ifstream file = data::open_file(config);
  if (!file) {
    throw FileError(fmt::format("[encoder] wanted a folder of weights with '{}', got no such file",
                                config.string()));
  }
  try {
    return shape_of_json(Json::parse(file), config.string());
  } catch (const Json::exception& problem) {
    throw FileError(fmt::format("[encoder] '{}': wanted the JSON of an encoder: {}",
                                config.string(), problem.what()));
  }
}

void check_size(EncoderSize size, const EncoderShape& found) {
  if (size == EncoderSize::kAuto) {
    return;
  }
  const EncoderShape wanted = shape_of(size, found.vocabulary);
  SING_CHECK(wanted.kind == found.kind, "[encoder] wanted weights of {}, got those of a {}",
             name_of(size), name_of(found.kind));
  const auto check = [&](const char* what, std::int64_t EncoderShape::* member) {
    SING_CHECK(wanted.*member == found.*member,
               "[encoder] wanted weights of {} with {} {}, got {}; without --model, the weights "
               "decide",
               name_of(size), what, wanted.*member, found.*member);
  };
  check("width", &EncoderShape::width);
  check("depth", &EncoderShape::depth);
  check("heads", &EncoderShape::heads);
  check("hidden width", &EncoderShape::hidden);
  check("positions", &EncoderShape::positions);
}

}  // namespace sing::lab::model
