// What tasks that classify images share: loss, count of right answers, model, picture.
#pragma once

#include <filesystem>
#include <tuple>

#include "lab/model/resnet.hpp"
#include "lab/task/task.hpp"
#include "sing/base/fields.hpp"

namespace sing::lab::image {

// A batch as trained on: images float [B, C, H, W], labels int64 [B].
enum Ready : std::size_t { kImages, kLabels };

struct ClassificationOptions {
  double label_smoothing = 0.1;
  bool mirrored_test = false;

  static constexpr auto fields() {
    using C = ClassificationOptions;
    return std::tuple{field("label_smoothing", &C::label_smoothing,
                            "share of the target spread over all classes, in the test loss too",
                            from_zero_below(1)),
                      field("mirrored_test", &C::mirrored_test,
                            "test with the mean of the answers to an image and its mirror image")};
  }
};

// Cross entropy, in float32 whatever the logits are.
at::Tensor classification_loss(const ClassificationOptions& options, const at::Tensor& logits,
                               const task::Batch& batch);

at::Tensor right_count(const at::Tensor& logits, const task::Batch& batch);

// A ResNet from batches to logits; on CUDA its weights have channels innermost.
task::TaskModel make_classifier(const model::ResnetOptions& model,
                                const ClassificationOptions& options, std::int64_t channels,
                                std::int64_t classes, at::Device device);

inline constexpr const char* kClassPictureLegend =
    "images of the test set; frame green: right, red: wrong";

// The first images of a batch, 0 … 255, in frames that are green where the answer is right and red
// where it is wrong.
void write_class_picture(const std::filesystem::path& path, const at::Tensor& values,
                         const at::Tensor& logits, const at::Tensor& labels);

}  // namespace sing::lab::image
