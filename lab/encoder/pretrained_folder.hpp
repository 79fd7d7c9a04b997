// Reads what a folder of pre-trained weights says about its encoder, in the files of Hugging Face.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lab/model/encoder_shape.hpp"

namespace sing::lab::encoder {

struct PretrainedFolder {
  model::EncoderShape shape;            // config.json
  std::vector<std::string> vocabulary;  // vocab.txt
  bool lower_case = true;               // tokenizer_config.json, if there is one
  std::filesystem::path weights;        // model.safetensors
};

// Throws FileError for a file that is missing or broken, and for a vocabulary with more tokens than
// the encoder has.
PretrainedFolder read_pretrained_folder(const std::filesystem::path& folder);

}  // namespace sing::lab::encoder
