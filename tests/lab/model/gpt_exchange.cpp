// Runs the C++ language model on weights and tokens of tests/lab/model/gpt_test.py, in double.
//
// gpt_exchange FOLDER HEADS reads FOLDER/weights.safetensors and FOLDER/input.safetensors (tokens,
// targets) and writes FOLDER/result.safetensors: logits, and gradients of the mean cross entropy.
#include <torch/torch.h>

#include <cstdio>
#include <string>

#include "lab/model/gpt.hpp"
#include "sing/base/message.hpp"
#include "sing/io/safetensors.hpp"

namespace {

at::Tensor read(const sing::SafetensorsReader& reader, const std::string& name) {
  const sing::TensorEntry* const entry = reader.find(name);
  SING_CHECK(entry != nullptr, "[gpt_exchange] wanted '{}', got none", name);
  const bool is_whole = entry->dtype == sing::Dtype::kInt64;
  at::Tensor tensor = at::empty(entry->shape, is_whole ? at::kLong : at::kDouble);
  reader.read(*entry, static_cast<std::byte*>(tensor.mutable_data_ptr()));
  return tensor;
}

void run(const std::string& folder, std::int64_t heads) {
  const sing::SafetensorsReader weights(folder + "/weights.safetensors");
  const sing::SafetensorsReader input(folder + "/input.safetensors");
  const auto embedding = weights.find("token_embed.weight")->shape;
  std::int64_t depth = 0;
  while (weights.find(fmt::format("blocks.{}.norm1.weight", depth)) != nullptr) {
    ++depth;
  }
  sing::lab::model::GptImpl gpt({.vocabulary = embedding[0],
                                 .context = weights.find("pos_embed")->shape[0],
                                 .depth = depth,
                                 .width = embedding[1],
                                 .heads = heads,
                                 .dropout = 0});
  gpt.to(at::kDouble);
  for (auto& item : gpt.named_parameters()) {
    const at::NoGradGuard no_gradient;
    item.value().copy_(read(weights, item.key()));
  }
  const at::Tensor logits = gpt.forward(read(input, "tokens"));
  at::cross_entropy_loss(logits.flatten(0, 1), read(input, "targets").flatten()).backward();
  std::vector<at::Tensor> kept;
  std::vector<sing::TensorBytes> tensors;
  const auto add = [&](const std::string& name, const at::Tensor& tensor) {
    kept.push_back(tensor.detach().contiguous());
    tensors.push_back({{name, sing::Dtype::kFloat64, kept.back().sizes().vec()},
                       static_cast<const std::byte*>(kept.back().const_data_ptr())});
  };
  add("logits", logits);
  for (const auto& item : gpt.named_parameters()) {
    add("gradient." + item.key(), item.value().grad());
  }
  sing::write_safetensors(folder + "/result.safetensors", {}, tensors);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fputs("gpt_exchange FOLDER HEADS\n", stderr);
    return 2;
  }
  try {
    run(arguments[1], std::stoll(arguments[2]));
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
}
