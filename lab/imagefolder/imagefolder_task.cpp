// Implements the image folder task: CPU threads decode crops, the device normalizes them.
#include "lab/imagefolder/imagefolder_task.hpp"

#include <torch/torch.h>

#include <optional>

#include "lab/command/field_flags.hpp"
#include "lab/image/classification.hpp"
#include "lab/image/crop_loader.hpp"
#include "lab/image/epoch_order.hpp"
#include "lab/image/image_sources.hpp"
#include "lab/image/normalizer.hpp"
#include "lab/image/stand_in.hpp"
#include "lab/imagefolder/options.hpp"
#include "lab/task/counting_task.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::imagefolder {
namespace {

// Tensors made on the host: pixels uint8 [B, S, S, 3], labels int64 [B].
enum Made : std::size_t { kPixels, kMadeLabels };

// ImageNet's moments for values of 0 … 255, as in torchvision and FFCV.
const image::Normalization kNormalization = {.mean = {0.485 * 255, 0.456 * 255, 0.406 * 255},
                                             .deviation = {0.229 * 255, 0.224 * 255, 0.225 * 255}};

constexpr image::SmallShape kStandInShape = {.channels = 3, .size = 64, .classes = 10};
constexpr std::int64_t kStandInTraining = 1000;
constexpr std::int64_t kStandInTest = 200;
constexpr std::size_t kNamedImages = 3;

class ImagefolderTask final : public task::CountingTask {
 public:
  void add_flags(CLI::App& command) override {
    command
        .add_option("--data", data_, "folder with train/<class>/ and val/<class>/, or a pack of it")
        ->type_name("PATH")
        ->capture_default_str();
    command::add_field_flags(command, options_);
    command::add_field_flags(command, model_);
    command::add_field_flags(command, classification_);
  }

  std::vector<OptionInfo> options() const override {
    std::vector<OptionInfo> list = list_fields(options_, model_, classification_);
    list.push_back({"data", "folder or pack of the images", data_});
    return list;
  }

  void prepare(const task::TaskSetting& setting) override {
    check(options_);
    validate(model_, "imagefolder");
    validate(classification_, "imagefolder");
    seed_ = setting.seed;
    device_ = setting.device;
    source_ = open_source(setting.data_threads);
    if (setting.evaluate_on == data::EvaluationSet::kValidation) {
      source_ = image::make_held_out_source(std::move(source_));
    }
    loader_.emplace(*source_, setting.data_threads);
    order_.emplace(seed_, example_count(task::Split::kTraining), example_count(task::Split::kTest));
    normalizer_.emplace(kNormalization, device_);
  }

  std::string notice() const override { return notice_; }
  std::string data_digest() const override { return source_->digest(); }

  std::int64_t example_count(task::Split split) const override {
    return static_cast<std::int64_t>(source_->count(split));
  }

  task::Batch make_batch(const task::BatchRequest& request) override {
    const bool training = request.split == task::Split::kTraining;
    const std::int64_t size =
        training ? training_size(options_, request.epoch) : options_.test_size;
    const auto host = at::TensorOptions().pinned_memory(device_.is_cuda());
    task::Batch batch = {at::empty({request.count, size, size, 3}, host.dtype(at::kByte)),
                         at::empty({request.count}, host.dtype(at::kLong))};
    const image::CropRule rule{.subset = request.split,
                               .seed = seed_,
                               .epoch = static_cast<std::uint64_t>(request.epoch),
                               .least_area = options_.least_area,
                               .test_share = options_.test_share};
    auto* const labels = batch[kMadeLabels].mutable_data_ptr<std::int64_t>();
    loader_->load(order_->indices(rule.subset, request.epoch, request.first, request.count), rule,
                  static_cast<int>(size), batch[kPixels].mutable_data_ptr<std::uint8_t>(),
                  [&](std::size_t place, std::uint64_t index) {
                    labels[place] = source_->label(rule.subset, index);
                  });
    return batch;
  }

  // Pixels with interleaved colors are channels-last images without a copy.
  task::Batch to_device(const task::Batch& made) const override {
    const at::Tensor pixels = made[kPixels].to(device_, /*non_blocking=*/true);
    at::Tensor images = normalizer_->normalized(pixels.permute({0, 3, 1, 2}));
    if (!device_.is_cuda()) {
      images = images.contiguous();
    }
    return {images, made[kMadeLabels].to(device_, /*non_blocking=*/true)};
  }

  task::TaskModel make_model() const override {
    return image::make_classifier(model_, classification_, 3,
                                  static_cast<std::int64_t>(source_->classes().size()), device_);
  }

  at::Tensor loss(const at::Tensor& prediction, const task::Batch& batch) const override {
    return image::classification_loss(classification_, prediction, batch);
  }
  at::Tensor right_count(const at::Tensor& prediction, const task::Batch& batch) const override {
    return image::right_count(prediction, batch);
  }
  std::string picture_legend() const override { return image::kClassPictureLegend; }
  void write_picture(const std::filesystem::path& path, const at::Tensor& prediction,
                     const task::Batch& batch) const override {
    image::write_class_picture(path, normalizer_->values_of(batch[image::kImages]), prediction,
                               batch[image::kLabels]);
  }

 private:
  std::unique_ptr<image::ImageSource> open_source(int threads) {
    if (options_.stand_in) {
      notice_ = image::stand_in_notice("ImageNet or any other folder of images");
      return image::make_memory_source(
          image::make_stand_in(kStandInShape, kStandInTraining, kStandInTest));
    }
    if (std::filesystem::is_regular_file(data_)) {
      return image::open_pack(data_);
    }
    SING_CHECK(
        std::filesystem::is_directory(data_),
        "[imagefolder] wanted JPEG or PNG files in '{}/train/<class>/' and '{}/val/<class>/', or a "
        "pack "
        "of them (`sing data pack`), got neither: --data PATH says where they are. Without files: "
        "--stand-in trains on generated patterns, and the task rde needs none.",
        data_, data_);
    image::ImageFolder folder = image::list_image_folder(data_);
    const std::vector<std::string> bad =
        image::drop_bad_images(folder, options_.bad_images, threads);
    if (!bad.empty()) {
      notice_ =
          fmt::format("left out {} files that are not complete JPEG or PNG images:", bad.size());
      for (std::size_t i = 0; i < std::min(bad.size(), kNamedImages); ++i) {
        notice_ += "\n  " + bad[i];
      }
      notice_ += bad.size() > kNamedImages ? "\n  … (`sing data pack` names them all)" : "";
    }
    return image::make_folder_source(std::move(folder));
  }

  std::string data_ = "data/imagefolder";
  ImageFolderOptions options_;
  model::ResnetOptions model_;
  image::ClassificationOptions classification_;
  std::uint64_t seed_ = 0;
  at::Device device_ = at::kCPU;
  std::string notice_;
  std::unique_ptr<image::ImageSource> source_;
  std::optional<image::CropLoader> loader_;
  std::optional<image::EpochOrder> order_;
  std::optional<image::Normalizer> normalizer_;
};

}  // namespace

std::unique_ptr<task::Task> make_task() { return std::make_unique<ImagefolderTask>(); }

}  // namespace sing::lab::imagefolder
