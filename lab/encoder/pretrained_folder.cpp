// Reads the files of a folder of weights.
#include "lab/encoder/pretrained_folder.hpp"

#include <nlohmann/json.hpp>

#include "lab/data/open_file.hpp"
#include "lab/text/wordpiece.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::encoder {
namespace {

bool reads_lower_case(const std::filesystem::path& config) {
  std::ifstream file = data::open_file(config);
  if (!file) {
    return true;
  }
  try {
    return nlohmann::json::parse(file).value("do_lower_case", true);
  } catch (const nlohmann::json::exception& problem) {
    throw FileError(fmt::format("[weights] '{}': wanted the JSON of a tokenizer: {}",
                                config.string(), problem.what()));
  }
}

}  // namespace

PretrainedFolder read_pretrained_folder(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder)) {
    throw FileError(
        fmt::format("[weights] wanted a folder of weights (`sing data weights` fetches "
                    "one), got no folder '{}'",
                    folder.string()));
  }
  PretrainedFolder found = {.shape = model::read_encoder_shape(folder / "config.json"),
                            .vocabulary = text::read_vocabulary(folder / "vocab.txt"),
                            .lower_case = reads_lower_case(folder / "tokenizer_config.json"),
                            .weights = folder / "model.safetensors"};
  const auto tokens = static_cast<std::int64_t>(found.vocabulary.size());
  if (tokens > found.shape.vocabulary) {
    throw FileError(
        fmt::format("[weights] '{}': wanted a vocab.txt of at most {} tokens, as config.json says, "
                    "got {}",
                    folder.string(), found.shape.vocabulary, tokens));
  }
  return found;
}

}  // namespace sing::lab::encoder
