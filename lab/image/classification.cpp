// Computes the loss and the accuracy of image classifiers and draws their predictions.
#include "lab/image/classification.hpp"

#include <torch/torch.h>

#include <algorithm>

#include "lab/model/freeze_norms.hpp"
#include "lab/picture/png.hpp"

namespace sing::lab::image {
namespace {

constexpr std::int64_t kPictureImages = 32;
constexpr int kPictureColumns = 8;
constexpr int kFrame = 2;
constexpr int kGap = 2;
constexpr picture::Color kRight = {40, 160, 70};
constexpr picture::Color kWrong = {200, 50, 40};

}  // namespace

at::Tensor classification_loss(const ClassificationOptions& options, const at::Tensor& logits,
                               const task::Batch& batch) {
  return at::cross_entropy_loss(logits.to(at::kFloat), batch[kLabels],
                                /*weight=*/{}, at::Reduction::Mean,
                                /*ignore_index=*/-100, options.label_smoothing);
}

at::Tensor right_count(const at::Tensor& logits, const task::Batch& batch) {
  return (logits.argmax(1) == batch[kLabels]).sum();
}

task::TaskModel make_classifier(const model::ResnetOptions& model,
                                const ClassificationOptions& options, std::int64_t channels,
                                std::int64_t classes, at::Device device) {
  const auto resnet = std::make_shared<model::ResnetImpl>(model, channels, classes);
  if (model.freeze_norms) {
    model::freeze_norms(*resnet);
  }
  if (device.is_cuda()) {
    model::to_channels_last(*resnet);
  }
  const auto forward = [resnet, mirrored = options.mirrored_test](const task::Batch& batch) {
    const at::Tensor logits = resnet->forward(batch[kImages]);
    if (!mirrored || resnet->is_training()) {
      return logits;
    }
    return (logits + resnet->forward(batch[kImages].flip(3))) / 2;
  };
  // The fused layers normalize by the moments of the batch, which is correct only in training.
  const auto fused = [resnet, forward](const task::Batch& batch,
                                       const model::WeightCopies& copies) {
    return resnet->is_training() ? resnet->fused_forward(batch[kImages], copies) : forward(batch);
  };
  return {resnet, forward, task::FusedModel{resnet->copied_parameters(), fused}};
}

void write_class_picture(const std::filesystem::path& path, const at::Tensor& values,
                         const at::Tensor& logits, const at::Tensor& labels) {
  const std::int64_t count = std::min(values.size(0), kPictureImages);
  const at::Tensor shown = values.slice(0, 0, count)
                               .expand({-1, 3, -1, -1})
                               .round()
                               .clamp(0, 255)
                               .to(at::kCPU, at::kByte)
                               .permute({0, 2, 3, 1})
                               .contiguous();  // [count, H, W, 3]
  const at::Tensor right =
      (logits.slice(0, 0, count).argmax(1) == labels.slice(0, 0, count)).to(at::kCPU);
  const int height = static_cast<int>(shown.size(1));
  const int width = static_cast<int>(shown.size(2));
  const int step_x = width + 2 * kFrame + kGap;
  const int step_y = height + 2 * kFrame + kGap;
  const int columns = std::min(kPictureColumns, static_cast<int>(count));
  const int rows = (static_cast<int>(count) + kPictureColumns - 1) / kPictureColumns;
  picture::Picture picture(kGap + columns * step_x, kGap + rows * step_y, {255, 255, 255});
  const std::uint8_t* pixel = shown.const_data_ptr<std::uint8_t>();
  for (int image = 0; image < static_cast<int>(count); ++image) {
    const int left = kGap + image % kPictureColumns * step_x;
    const int top = kGap + image / kPictureColumns * step_y;
    const picture::Color frame = right[image].item<bool>() ? kRight : kWrong;
    for (int y = 0; y < height + 2 * kFrame; ++y) {
      for (int x = 0; x < width + 2 * kFrame; ++x) {
        picture.set(left + x, top + y, frame);
      }
    }
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x, pixel += 3) {
        picture.set(left + kFrame + x, top + kFrame + y, {pixel[0], pixel[1], pixel[2]});
      }
    }
  }
  picture::write_png(path, picture);
}

}  // namespace sing::lab::image
