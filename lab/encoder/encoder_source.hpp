// Defines where a task's encoder and its vocabulary come from: a folder of weights, or a size by
// name.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lab/encoder/text_pairs.hpp"
#include "lab/model/text_model.hpp"
#include "sing/optim/options.hpp"

namespace sing::lab::encoder {

class EncoderSource {
 public:
  void add_flags(CLI::App& command);
  std::vector<OptionInfo> options() const;

  // Reads the files. Without --weights and --vocabulary the encoder reads `words`, which may be
  // empty if one of them has to be given. Throws FileError or std::invalid_argument; messages about
  // the options use `where`. `longest` is that of the task's sequences.
  void prepare(const std::string& where, const std::vector<std::string>& words,
               std::int64_t longest);

  const TextPairs& pairs() const { return *pairs_; }
  // Identifies the vocabulary, in hexadecimal.
  const std::string& digest() const { return digest_; }

  // An encoder with a head (model::TextModelImpl). The encoder has the weights of the folder, if
  // one is given; norms are frozen if the options say so.
  std::shared_ptr<model::TextModelImpl> make_model(model::Pooler pooler, const std::string& head,
                                                   std::int64_t outputs) const;

 private:
  std::string weights_, vocabulary_;
  model::EncoderOptions options_;
  model::EncoderShape shape_;
  std::optional<TextPairs> pairs_;
  std::string digest_;
};

}  // namespace sing::lab::encoder
