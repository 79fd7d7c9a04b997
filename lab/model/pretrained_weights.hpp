// Loads weights under Hugging Face's names into a module.
#pragma once

#include <torch/nn/module.h>

#include <filesystem>
#include <string>
#include <vector>

namespace sing::lab::model {

// Says how the names in a file differ from the module's.
struct WeightNames {
  std::vector<std::string> prefixes;  // that a name in the file may begin with
  std::vector<std::string> ignored;   // beginnings, after the prefix, of names that are left out
};

// Copies every tensor of the safetensors file, in any floating-point type, to the parameter with
// its name. The names gamma and beta of earlier files mean weight and bias. Throws FileError, and
// changes nothing, for a tensor that is missing, is not known or has another shape.
void load_pretrained(const std::filesystem::path& path, ::torch::nn::Module& module,
                     const WeightNames& names);

}  // namespace sing::lab::model
