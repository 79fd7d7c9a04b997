// Runs the C++ ResNet on weights and images of tests/lab/model/resnet_test.py, in double.
//
// resnet_exchange FOLDER MODEL STEM plain|blurpool contiguous|channels_last reads
// FOLDER/weights.safetensors (torchvision's names) and FOLDER/input.safetensors (images, labels)
// and writes FOLDER/result.safetensors: logits in training, gradients of a label-smoothed loss,
// buffers after that step, logits in evaluation, logits averaged with those of the mirror images.
#include <torch/torch.h>

#include <cstdio>

#include "lab/image/classification.hpp"
#include "lab/loop/checkpoint.hpp"
#include "lab/model/resnet.hpp"
#include "sing/base/message.hpp"
#include "sing/io/safetensors.hpp"

namespace {

constexpr double kLabelSmoothing = 0.1;

at::Tensor read(const sing::SafetensorsReader& reader, const std::string& name) {
  const sing::TensorEntry* const entry = reader.find(name);
  SING_CHECK(entry != nullptr, "[resnet_exchange] wanted '{}', got none", name);
  const bool is_whole = entry->dtype == sing::Dtype::kInt64;
  at::Tensor tensor = at::empty(entry->shape, is_whole ? at::kLong : at::kDouble);
  reader.read(*entry, static_cast<std::byte*>(tensor.mutable_data_ptr()));
  return tensor;
}

struct Result {
  std::vector<at::Tensor> kept;
  std::vector<sing::TensorBytes> tensors;

  void add(const std::string& name, const at::Tensor& tensor) {
    kept.push_back(tensor.detach().contiguous());
    const bool is_whole = tensor.scalar_type() == at::kLong;
    tensors.push_back(
        {{name, is_whole ? sing::Dtype::kInt64 : sing::Dtype::kFloat64, kept.back().sizes().vec()},
         static_cast<const std::byte*>(kept.back().const_data_ptr())});
  }
};

template <class Enum>
Enum parsed(const char* text) {
  const std::optional<Enum> value = sing::parse_enum<Enum>(text);
  SING_CHECK(value, "[resnet_exchange] wanted one of {}, got '{}'", sing::joined_enum_names<Enum>(),
             text);
  return *value;
}

void run(const std::string& folder, const sing::lab::model::ResnetOptions& options,
         bool channels_last) {
  const sing::SafetensorsReader weights(folder + "/weights.safetensors");
  const sing::SafetensorsReader input(folder + "/input.safetensors");
  const auto classes = weights.find("fc.bias")->shape.front();
  const sing::lab::image::ClassificationOptions loss{.label_smoothing = kLabelSmoothing,
                                                     .mirrored_test = true};
  sing::lab::task::TaskModel model =
      sing::lab::image::make_classifier(options, loss, 3, classes, at::kCPU);
  model.module->to(at::kDouble);
  {
    const at::NoGradGuard no_gradient;
    for (auto& item : model.module->named_parameters()) {
      item.value().copy_(read(weights, item.key()));
    }
    for (auto& item : model.module->named_buffers()) {
      item.value().copy_(read(weights, item.key()));
    }
  }
  at::Tensor images = read(input, "images");
  if (channels_last) {
    sing::lab::model::to_channels_last(*model.module);
    images = images.contiguous(at::MemoryFormat::ChannelsLast);
  }
  const sing::lab::task::Batch batch = {images, read(input, "labels")};
  Result result;
  model.module->train();
  const at::Tensor logits = model.forward(batch);
  result.add("logits", logits);
  // classification_loss computes in float32; the comparison needs all digits.
  at::cross_entropy_loss(logits, batch[1], {}, at::Reduction::Mean, -100, kLabelSmoothing)
      .backward();
  result.add("loss", sing::lab::image::classification_loss(loss, logits, batch).to(at::kDouble));
  for (const auto& item : model.module->named_parameters()) {
    result.add("gradient." + item.key(), item.value().grad());
  }
  for (const auto& item : model.module->named_buffers()) {
    result.add("buffer." + item.key(), item.value());
  }
  model.module->eval();
  result.add("mirrored", model.forward(batch));
  result.add(
      "evaluation",
      std::dynamic_pointer_cast<sing::lab::model::ResnetImpl>(model.module)->forward(images));
  sing::write_safetensors(folder + "/result.safetensors", {}, result.tensors);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 6) {
    std::fputs("resnet_exchange FOLDER MODEL STEM plain|blurpool contiguous|channels_last\n",
               stderr);
    return 2;
  }
  try {
    run(arguments[1],
        {.model = parsed<sing::lab::model::ResnetSize>(arguments[2]),
         .stem = parsed<sing::lab::model::Stem>(arguments[3]),
         .blurpool = std::string(arguments[4]) == "blurpool"},
        std::string(arguments[5]) == "channels_last");
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
}
