// Checks what reading an encoder's config.json refuses.
#include "lab/model/encoder_shape.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sing/base/error.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::lab::model {
namespace {

using test::message_of;
using ::testing::HasSubstr;

nlohmann::json config_of(const char* kind) {
  return {{"model_type", kind},
          {"vocab_size", 60},
          {"hidden_size", 32},
          {"num_hidden_layers", 1},
          {"num_attention_heads", 2},
          {"intermediate_size", 64},
          {"max_position_embeddings", 100},
          {"type_vocab_size", 2},
          {"relative_attention_num_buckets", 32},
          {"layer_norm_eps", 1e-12},
          {"hidden_dropout_prob", 0.1},
          {"attention_probs_dropout_prob", 0.1}};
}

EncoderShape shape_of_config(const nlohmann::json& config) {
  const test::TemporaryFolder folder;
  test::write_whole(folder / "config.json", config.dump());
  return read_encoder_shape(folder / "config.json");
}

TEST(EncoderShape, HasTheNumbersOfTheFile) {
  const EncoderShape bert = shape_of_config(config_of("bert"));
  EXPECT_EQ(bert.width, 32);
  EXPECT_EQ(bert.heads, 2);
  EXPECT_EQ(bert.longest(), 100);
  const EncoderShape mpnet = shape_of_config(config_of("mpnet"));
  EXPECT_EQ(mpnet.buckets, 32);
  EXPECT_EQ(mpnet.types, 0);
  EXPECT_EQ(mpnet.longest(), 98) << "positions begin after that of the padding, 1";
}

TEST(EncoderShape, RefusesSizesThatMakeNoEncoder) {
  for (const char* size : {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
                           "intermediate_size", "max_position_embeddings", "type_vocab_size"}) {
    for (const std::int64_t value : {0, -1}) {
      nlohmann::json config = config_of("bert");
      config[size] = value;
      EXPECT_THAT(message_of<FileError>([&] { shape_of_config(config); }),
                  HasSubstr("wanted sizes above 0 and heads that divide hidden_size"))
          << size;
    }
  }
  nlohmann::json uneven = config_of("bert");
  uneven["num_attention_heads"] = 3;
  EXPECT_THROW(shape_of_config(uneven), FileError);
  nlohmann::json few = config_of("mpnet");
  few["relative_attention_num_buckets"] = 3;
  EXPECT_THROW(shape_of_config(few), FileError);
  nlohmann::json negative = config_of("mpnet");
  negative["pad_token_id"] = -1;
  EXPECT_THROW(shape_of_config(negative), FileError);
}

TEST(EncoderShape, RefusesSizesThatAreNoWholeNumbers) {
  for (const nlohmann::json& value :
       {nlohmann::json(32.5), nlohmann::json(1e300), nlohmann::json("32"), nlohmann::json()}) {
    nlohmann::json config = config_of("bert");
    config["hidden_size"] = value;
    EXPECT_THAT(message_of<FileError>([&] { shape_of_config(config); }),
                HasSubstr("wanted a whole number 'hidden_size', got " + value.dump()));
  }
}

}  // namespace
}  // namespace sing::lab::model
