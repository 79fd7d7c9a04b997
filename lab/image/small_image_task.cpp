// Implements tasks on small images: the set is uploaded once, and batches are rows of parameters.
#include "lab/image/small_image_task.hpp"

#include <torch/torch.h>

#include <optional>
#include <utility>

#include "lab/command/field_flags.hpp"
#include "lab/image/epoch_order.hpp"
#include "lab/image/stand_in.hpp"
#include "lab/task/counting_task.hpp"

namespace sing::lab::image {
namespace {

struct StandInOptions {
  bool stand_in = false;
  std::int64_t stand_in_train = 5000;
  std::int64_t stand_in_test = 1000;

  static constexpr auto fields() {
    using S = StandInOptions;
    return std::tuple{
        field("stand_in", &S::stand_in, "train on generated patterns; the results mean nothing"),
        field("stand_in_train", &S::stand_in_train, "number of generated training images",
              between(1, 1e7)),
        field("stand_in_test", &S::stand_in_test, "number of generated test images",
              between(1, 1e7))};
  }
};

class SmallImageTask final : public task::CountingTask {
 public:
  explicit SmallImageTask(SmallTaskKind kind)
      : kind_(std::move(kind)), data_(std::string("data/") + kind_.official.name) {}

  void add_flags(CLI::App& command) override {
    command.add_option("--data", data_, "folder of the data set's files")
        ->type_name("FOLDER")
        ->capture_default_str();
    command::add_field_flags(command, stand_in_);
    command::add_field_flags(command, kind_.augment);
    command::add_field_flags(command, kind_.model);
    command::add_field_flags(command, kind_.classification);
  }

  std::vector<OptionInfo> options() const override {
    std::vector<OptionInfo> list =
        list_fields(stand_in_, kind_.augment, kind_.model, kind_.classification);
    list.push_back({"data", "folder of the data set's files", data_});
    return list;
  }

  void prepare(const task::TaskSetting& setting) override {
    const char* const where = kind_.official.name;
    validate(stand_in_, where);
    validate(kind_.augment, where);
    validate(kind_.model, where);
    validate(kind_.classification, where);
    seed_ = setting.seed;
    device_ = setting.device;
    SmallSet set = stand_in_.stand_in ? make_stand_in(kind_.shape, stand_in_.stand_in_train,
                                                      stand_in_.stand_in_test)
                                      : kind_.read(data_);
    digest_ = stand_in_.stand_in ? "" : digest_of(set);
    if (setting.evaluate_on == data::EvaluationSet::kValidation) {
      set = with_validation(set);
    }
    training_count_ = set.subsets[0].count();
    test_count_ = set.subsets[1].count();
    order_.emplace(seed_, training_count_, test_count_);
    upload(set);
    augmenter_.emplace(kind_.normalization, kind_.shape.size, kind_.augment.rotation > 0, device_);
  }

  std::string notice() const override {
    return stand_in_.stand_in ? stand_in_notice(kind_.official.title) : "";
  }

  std::string data_digest() const override { return digest_; }

  std::int64_t example_count(task::Split split) const override {
    return split == task::Split::kTraining ? training_count_ : test_count_;
  }

  task::Batch make_batch(const task::BatchRequest& request) override {
    const auto options = at::TensorOptions(at::kInt).pinned_memory(device_.is_cuda());
    at::Tensor rows = at::empty({request.count, kColumns}, options);
    auto* row = reinterpret_cast<AugmentRow*>(rows.mutable_data_ptr<std::int32_t>());
    const bool training = request.split == task::Split::kTraining;
    for (const std::uint64_t index :
         order_->indices(request.split, request.epoch, request.first, request.count)) {
      *row++ = training ? draw_augmentation(kind_.augment, seed_,
                                            static_cast<std::uint64_t>(request.epoch), index)
                        : no_augmentation(static_cast<std::uint64_t>(training_count_) + index);
    }
    return {rows};
  }

  task::Batch to_device(const task::Batch& made) const override {
    const at::Tensor rows = made.front().to(device_, /*non_blocking=*/true);
    at::Tensor images = (*augmenter_)(pixels_, rows);
    if (device_.is_cuda()) {
      images = images.contiguous(at::MemoryFormat::ChannelsLast);
    }
    return {images, labels_.index_select(0, rows.select(1, kIndex))};
  }

  task::TaskModel make_model() const override {
    return make_classifier(kind_.model, kind_.classification, kind_.shape.channels,
                           kind_.shape.classes, device_);
  }

  at::Tensor loss(const at::Tensor& prediction, const task::Batch& batch) const override {
    return classification_loss(kind_.classification, prediction, batch);
  }
  at::Tensor right_count(const at::Tensor& prediction, const task::Batch& batch) const override {
    return image::right_count(prediction, batch);
  }
  std::string picture_legend() const override { return kClassPictureLegend; }
  void write_picture(const std::filesystem::path& path, const at::Tensor& prediction,
                     const task::Batch& batch) const override {
    write_class_picture(path, augmenter_->normalizer().values_of(batch[kImages]), prediction,
                        batch[kLabels]);
  }

 private:
  // Test images follow the training images.
  void upload(const SmallSet& set) {
    const SmallShape& shape = kind_.shape;
    std::vector<at::Tensor> pixels;
    std::vector<at::Tensor> labels;
    for (const SmallSubset& subset : set.subsets) {
      const auto view = [](const std::vector<std::uint8_t>& bytes, at::IntArrayRef sizes) {
        return ::torch::from_blob(const_cast<std::uint8_t*>(bytes.data()), sizes, at::kByte);
      };
      pixels.push_back(
          view(subset.pixels, {subset.count(), shape.channels, shape.size, shape.size}));
      labels.push_back(view(subset.labels, {subset.count()}));
    }
    pixels_ = at::cat(pixels).to(device_);
    labels_ = at::cat(labels).to(device_, at::kLong);
  }

  SmallTaskKind kind_;
  std::string data_;
  StandInOptions stand_in_;
  std::uint64_t seed_ = 0;
  at::Device device_ = at::kCPU;
  std::string digest_;  // SHA-256 of the set; "" for stand-in data
  std::int64_t training_count_ = 0;
  std::int64_t test_count_ = 0;
  std::optional<EpochOrder> order_;
  std::optional<Augmenter> augmenter_;
  at::Tensor pixels_;  // uint8 [N, C, S, S]
  at::Tensor labels_;  // int64 [N]
};

}  // namespace

std::unique_ptr<task::Task> make_small_image_task(SmallTaskKind kind) {
  return std::make_unique<SmallImageTask>(std::move(kind));
}

}  // namespace sing::lab::image
