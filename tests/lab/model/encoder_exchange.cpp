// Runs the C++ encoder on weights and sequences of tests/lab/model/encoder_test.py, in double.
//
// encoder_exchange WEIGHTS FOLDER reads the folder of weights WEIGHTS and FOLDER/input.safetensors
// (ids, types, is_token, and the gradients of the result) and writes FOLDER/result.safetensors: the
// vectors of all tokens, the pooled ones, and the gradients of the parameters.
#include <torch/torch.h>

#include <cstdio>

#include "lab/encoder/pretrained_folder.hpp"
#include "lab/model/text_encoder.hpp"
#include "sing/base/message.hpp"
#include "sing/io/safetensors.hpp"

namespace {

at::Tensor read(const sing::SafetensorsReader& reader, const std::string& name) {
  const sing::TensorEntry* const entry = reader.find(name);
  SING_CHECK(entry != nullptr, "[encoder_exchange] wanted '{}', got none", name);
  const bool is_whole = entry->dtype == sing::Dtype::kInt64;
  at::Tensor tensor = at::empty(entry->shape, is_whole ? at::kLong : at::kDouble);
  reader.read(*entry, static_cast<std::byte*>(tensor.mutable_data_ptr()));
  return tensor;
}

void run(const std::string& weights, const std::string& folder) {
  using sing::lab::model::Pooler;
  const auto found = sing::lab::encoder::read_pretrained_folder(weights);
  sing::lab::model::TextEncoderImpl encoder(found.shape, Pooler::kFirstToken);
  encoder.to(at::kDouble);
  sing::lab::model::load_pretrained(found.weights, encoder,
                                    sing::lab::model::encoder_weight_names(Pooler::kFirstToken));
  encoder.eval();
  const sing::SafetensorsReader input(folder + "/input.safetensors");
  const at::Tensor hidden = encoder.forward(
      {read(input, "ids"), read(input, "types"), read(input, "is_token").to(at::kBool)});
  const at::Tensor pooled = encoder.pooled(hidden);
  ((hidden * read(input, "hidden_gradient")).sum() +
   (pooled * read(input, "pooled_gradient")).sum())
      .backward();

  std::vector<at::Tensor> kept;
  std::vector<sing::TensorBytes> tensors;
  const auto add = [&](const std::string& name, const at::Tensor& tensor) {
    kept.push_back(tensor.detach().contiguous());
    tensors.push_back({{name, sing::Dtype::kFloat64, kept.back().sizes().vec()},
                       static_cast<const std::byte*>(kept.back().const_data_ptr())});
  };
  add("hidden", hidden);
  add("pooled", pooled);
  for (const auto& item : encoder.named_parameters()) {
    add("gradient." + item.key(), item.value().grad());
  }
  sing::write_safetensors(folder + "/result.safetensors", {}, tensors);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fputs("encoder_exchange WEIGHTS FOLDER\n", stderr);
    return 2;
  }
  try {
    run(arguments[1], arguments[2]);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
}
