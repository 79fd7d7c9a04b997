// Implements denoising: patches of images, a network that predicts their noise, PSNR.
#include "lab/denoise/denoise_task.hpp"

#include <torch/torch.h>

#include <cmath>
#include <optional>

#include "lab/command/field_flags.hpp"
#include "lab/denoise/options.hpp"
#include "lab/denoise/patches.hpp"
#include "lab/image/crop_loader.hpp"
#include "lab/image/epoch_order.hpp"
#include "lab/image/image_sources.hpp"
#include "lab/image/stand_in.hpp"
#include "lab/model/dncnn.hpp"
#include "lab/model/resnet.hpp"
#include "lab/picture/png.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::denoise {
namespace {

// Tensors made on the host: pixels uint8 [B, P, P, 3], noise of deviation 1, float of that shape.
enum Made : std::size_t { kMadePixels, kMadeNoise };
// Tensors in training, float [B, 3, P, P], with colors of 0 … 1.
enum Ready : std::size_t { kNoisy, kNoise };

constexpr double kWhite = 255;
constexpr int kShownPatches = 8;

constexpr image::SmallShape kStandInShape = {.channels = 3, .size = 64, .classes = 10};
constexpr std::int64_t kStandInTraining = 1000;
constexpr std::int64_t kStandInTest = 200;

// The mean over the patches of −10 log₁₀(mean squared error), for colors of 0 … 1.
class SignalEvaluator final : public task::Evaluator {
 public:
  void add(const at::Tensor& prediction, const task::Batch& batch) override {
    const at::Tensor difference = (prediction.to(at::kDouble) - batch[kNoise]).flatten(1);
    const at::Tensor sum = (-10 * difference.square().mean(1).log10()).sum();
    sum_ = sum_.defined() ? sum_ + sum : sum;
    count_ += prediction.size(0);
  }
  task::Scores scores(double /*loss*/) override {
    task::Scores scores;
    scores.others.emplace_back("PSNR, dB", sum_.item<double>() / static_cast<double>(count_));
    return scores;
  }

 private:
  at::Tensor sum_;
  std::int64_t count_ = 0;
};

class DenoiseTask final : public task::Task {
 public:
  void add_flags(CLI::App& command) override {
    command
        .add_option("--data", data_, "folder with train/<class>/ and val/<class>/, or a pack of it")
        ->type_name("PATH")
        ->capture_default_str();
    command::add_field_flags(command, options_);
    command::add_field_flags(command, model_);
  }

  std::vector<OptionInfo> options() const override {
    std::vector<OptionInfo> list = list_fields(options_, model_);
    list.push_back({"data", "folder or pack of the images", data_});
    return list;
  }

  void prepare(const task::TaskSetting& setting) override {
    validate(options_, "denoise");
    validate(model_, "denoise");
    seed_ = setting.seed;
    device_ = setting.device;
    source_ = open_source();
    if (setting.evaluate_on == data::EvaluationSet::kValidation) {
      source_ = image::make_held_out_source(std::move(source_));
    }
    loader_.emplace(*source_, setting.data_threads);
    order_.emplace(seed_, example_count(task::Split::kTraining), example_count(task::Split::kTest));
  }

  std::string notice() const override {
    return options_.stand_in ? image::stand_in_notice("any folder of images") : "";
  }
  std::string data_digest() const override { return source_->digest(); }

  std::int64_t example_count(task::Split split) const override {
    return static_cast<std::int64_t>(source_->count(split));
  }

  task::Batch make_batch(const task::BatchRequest& request) override {
    const auto host = at::TensorOptions().pinned_memory(device_.is_cuda());
    const std::vector<std::int64_t> shape = {request.count, options_.patch, options_.patch, 3};
    task::Batch batch = {at::empty(shape, host.dtype(at::kByte)),
                         at::empty(shape, host.dtype(at::kFloat))};
    const PatchRule rule{.subset = request.split,
                         .seed = seed_,
                         .epoch = static_cast<std::uint64_t>(request.epoch),
                         .size = static_cast<int>(options_.patch)};
    auto* const noise = batch[kMadeNoise].mutable_data_ptr<float>();
    const auto values = static_cast<std::size_t>(3 * options_.patch * options_.patch);
    loader_->load(order_->indices(rule.subset, request.epoch, request.first, request.count), rule,
                  rule.size, batch[kMadePixels].mutable_data_ptr<std::uint8_t>(),
                  [&](std::size_t place, std::uint64_t index) {
                    rule.draw_noise(index, {noise + place * values, values});
                  });
    return batch;
  }

  // Interleaved colors are channels-last images without a copy.
  task::Batch to_device(const task::Batch& made) const override {
    const at::Tensor pixels = made[kMadePixels].to(device_, /*non_blocking=*/true);
    at::Tensor noise =
        made[kMadeNoise].to(device_, /*non_blocking=*/true) * options_.noise / kWhite;
    at::Tensor noisy = pixels.to(at::kFloat) / kWhite + noise;
    noisy = noisy.permute({0, 3, 1, 2});
    noise = noise.permute({0, 3, 1, 2});
    return device_.is_cuda() ? task::Batch{noisy, noise}
                             : task::Batch{noisy.contiguous(), noise.contiguous()};
  }

  task::TaskModel make_model() const override {
    const auto dncnn = std::make_shared<model::DncnnImpl>(model_, kStandInShape.channels);
    if (device_.is_cuda()) {
      model::to_channels_last(*dncnn);
    }
    return {dncnn, [dncnn](const task::Batch& batch) { return dncnn->forward(batch[kNoisy]); }};
  }

  at::Tensor loss(const at::Tensor& prediction, const task::Batch& batch) const override {
    return at::mse_loss(prediction.to(at::kFloat), batch[kNoise]);
  }
  std::unique_ptr<task::Evaluator> make_evaluator(const task::TaskModel& /*model*/) const override {
    return std::make_unique<SignalEvaluator>();
  }

  std::string picture_legend() const override {
    return "noisy patch, the same without the predicted noise, and the patch itself";
  }
  void write_picture(const std::filesystem::path& path, const at::Tensor& prediction,
                     const task::Batch& batch) const override {
    const auto shown = [](const at::Tensor& images) {
      return (images.slice(0, 0, kShownPatches).to(at::kFloat) * kWhite)
          .round()
          .clamp(0, kWhite)
          .to(at::kCPU, at::kByte)
          .permute({0, 2, 3, 1});  // [B, P, P, 3]
    };
    const at::Tensor clean = batch[kNoisy] - batch[kNoise];
    // One row per patch.
    const at::Tensor rows =
        at::cat({shown(batch[kNoisy]), shown(batch[kNoisy] - prediction), shown(clean)}, 2)
            .flatten(0, 1)
            .contiguous();
    picture::Picture picture(static_cast<int>(rows.size(1)), static_cast<int>(rows.size(0)),
                             {255, 255, 255});
    const std::uint8_t* pixel = rows.const_data_ptr<std::uint8_t>();
    for (int y = 0; y < static_cast<int>(rows.size(0)); ++y) {
      for (int x = 0; x < static_cast<int>(rows.size(1)); ++x, pixel += 3) {
        picture.set(x, y, {pixel[0], pixel[1], pixel[2]});
      }
    }
    picture::write_png(path, picture);
  }

 private:
  std::unique_ptr<image::ImageSource> open_source() const {
    if (options_.stand_in) {
      return image::make_memory_source(
          image::make_stand_in(kStandInShape, kStandInTraining, kStandInTest));
    }
    if (std::filesystem::is_regular_file(data_)) {
      return image::open_pack(data_);
    }
    SING_CHECK(std::filesystem::is_directory(data_),
               "[denoise] wanted JPEG or PNG files in '{}/train/<class>/' and '{}/val/<class>/', "
               "or a pack of them, got neither: --data PATH says where they are. Without files: "
               "--stand-in trains on generated patterns.",
               data_, data_);
    return image::make_folder_source(image::list_image_folder(data_));
  }

  std::string data_ = "data/denoise";
  DenoiseOptions options_;
  model::DncnnOptions model_;
  std::uint64_t seed_ = 0;
  at::Device device_ = at::kCPU;
  std::unique_ptr<image::ImageSource> source_;
  std::optional<image::CropLoader> loader_;
  std::optional<image::EpochOrder> order_;
};

}  // namespace

std::unique_ptr<task::Task> make_task() { return std::make_unique<DenoiseTask>(); }

}  // namespace sing::lab::denoise
