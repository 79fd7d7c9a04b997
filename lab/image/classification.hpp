// Declares the parts that image classification tasks share: loss, accuracy, model and picture.
#pragma once

#include <filesystem>
#include <tuple>

#include "lab/model/resnet.hpp"
#include "lab/task/task.hpp"
#include "sing/base/fields.hpp"

namespace sing::lab::image {

// Tensors of a batch in training: images float [B, C, H, W], labels int64 [B].
enum Ready : std::size_t { kImages, kLabels };

struct ClassificationOptions {
  double label_smoothing = 0.1;
  bool mirrored_test = false;

  static constexpr auto fields() {
    using C = ClassificationOptions;
    return std::tuple{
        field("label_smoothing", &C::label_smoothing,
              "share of the target that is spread over all classes, also in the test loss",
              from_zero_below(1)),
        field("mirrored_test", &C::mirrored_test,
              "test with the mean of the predictions for each image and its horizontal flip")};
  }
};

// Cross entropy, computed in float32 for logits of any type.
at::Tensor classification_loss(const ClassificationOptions& options, const at::Tensor& logits,
                               const task::Batch& batch);

at::Tensor right_count(const at::Tensor& logits, const task::Batch& batch);

// Makes a ResNet that maps batches to logits; on CUDA its weights are channels-last.
task::TaskModel make_classifier(const model::ResnetOptions& model,
                                const ClassificationOptions& options, std::int64_t channels,
                                std::int64_t classes, at::Device device);

inline constexpr const char* kClassPictureLegend =
    "images of the test set; green frame: right, red frame: wrong";

// Draws the first images of a batch (values 0 … 255), framed in green if the prediction is right
// and in red if it is wrong.
void write_class_picture(const std::filesystem::path& path, const at::Tensor& values,
                         const at::Tensor& logits, const at::Tensor& labels);

}  // namespace sing::lab::image
