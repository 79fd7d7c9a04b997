// Reads the vocabulary and the sizes, and makes encoders.
#include "lab/encoder/encoder_source.hpp"

#include <algorithm>

#include "lab/command/field_flags.hpp"
#include "lab/data/sha256.hpp"
#include "lab/encoder/pretrained_folder.hpp"
#include "lab/model/freeze_norms.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::encoder {
namespace {

std::vector<std::string> with_special_tokens(model::EncoderKind kind,
                                             const std::vector<std::string>& words) {
  const std::span<const std::string_view> specials = special_tokens(kind);
  std::vector<std::string> vocabulary(specials.begin(), specials.end());
  vocabulary.insert(vocabulary.end(), words.begin(), words.end());
  return vocabulary;
}

std::string digest_of(const std::vector<std::string>& vocabulary, bool lower_case) {
  data::Sha256 hash;
  for (const std::string& token : vocabulary) {
    hash.add(std::as_bytes(std::span(token)));
    hash.add(std::as_bytes(std::span("\n", 1)));
  }
  return data::hexadecimal(hash.digest()) + (lower_case ? "" : "-cased");
}

}  // namespace

void EncoderSource::add_flags(CLI::App& command) {
  command
      .add_option("--weights", weights_,
                  "folder of pre-trained weights (`sing data weights` fetches one); none: random "
                  "ones")
      ->type_name("FOLDER");
  command
      .add_option("--vocabulary", vocabulary_,
                  "file of WordPiece tokens, one per line, for random weights")
      ->type_name("FILE");
  command::add_field_flags(command, options_);
}

std::vector<OptionInfo> EncoderSource::options() const {
  std::vector<OptionInfo> list = list_fields(options_);
  list.push_back({"weights", "folder of pre-trained weights", weights_});
  list.push_back({"vocabulary", "file of WordPiece tokens", vocabulary_});
  return list;
}

void EncoderSource::prepare(const std::string& where, const std::vector<std::string>& words,
                            std::int64_t longest) {
  validate(options_, where);
  SING_CHECK(weights_.empty() || vocabulary_.empty(),
             "[{}] wanted --weights or --vocabulary, got both: weights have a vocabulary", where);
  SING_CHECK(!weights_.empty() || !vocabulary_.empty() || !words.empty(),
             "[{}] wanted --weights FOLDER (`sing data weights` fetches one) or --vocabulary FILE "
             "for random weights, got neither",
             where);
  std::vector<std::string> vocabulary;
  bool lower_case = true;
  if (!weights_.empty()) {
    PretrainedFolder folder = read_pretrained_folder(weights_);
    model::check_size(options_.model, folder.shape);
    shape_ = folder.shape;
    lower_case = folder.lower_case;
    vocabulary = std::move(folder.vocabulary);
  } else {
    shape_ = model::shape_of(options_.model, 0);
    vocabulary = vocabulary_.empty() ? with_special_tokens(shape_.kind, words)
                                     : text::read_vocabulary(vocabulary_);
    shape_.vocabulary = static_cast<std::int64_t>(vocabulary.size());
  }
  shape_.dropout = options_.dropout;
  shape_.attention_dropout = options_.dropout;
  SING_CHECK(longest <= shape_.longest(),
             "[{}] wanted sequences of at most {} tokens for this encoder, got {}", where,
             shape_.longest(), longest);
  pairs_.emplace(shape_.kind, vocabulary, lower_case);
  digest_ = digest_of(vocabulary, lower_case);
}

std::shared_ptr<model::TextModelImpl> EncoderSource::make_model(model::Pooler pooler,
                                                                const std::string& head,
                                                                std::int64_t outputs) const {
  const auto made = std::make_shared<model::TextModelImpl>(shape_, pooler, head, outputs);
  if (!weights_.empty()) {
    model::load_pretrained(std::filesystem::path(weights_) / "model.safetensors", made->encoder(),
                           model::encoder_weight_names(pooler));
  }
  if (options_.freeze_norms) {
    model::freeze_norms(*made);
  }
  return made;
}

}  // namespace sing::lab::encoder
