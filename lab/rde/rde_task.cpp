// Implements the RDE task with a vision transformer, mean squared error and the paper's accuracy.
#include "lab/rde/rde_task.hpp"

#include <torch/torch.h>

#include <optional>

#include "lab/command/field_flags.hpp"
#include "lab/model/freeze_norms.hpp"
#include "lab/model/vit.hpp"
#include "lab/rde/batch_filler.hpp"
#include "lab/rde/epochs.hpp"
#include "lab/rde/prediction_picture.hpp"
#include "lab/task/counting_task.hpp"

namespace sing::lab::rde {
namespace {

// Tensors made on the host: rectangles uint8 [B, S, S], greys and levels float [B, N + 1].
enum Made : std::size_t { kRectangles, kGreys, kLevels };
// Tensors in training: images and targets float [B, 1, S, S], then the rectangles and levels.
enum Ready : std::size_t { kImages, kTargets, kReadyRectangles, kReadyLevels };

constexpr std::int64_t kPictureImages = 8;

class RdeTask final : public task::CountingTask {
 public:
  void add_flags(CLI::App& command) override {
    command::add_field_flags(command, options_);
    command::add_field_flags(command, set_);
    command::add_field_flags(command, model_);
  }

  std::vector<OptionInfo> options() const override { return list_fields(options_, set_, model_); }

  void prepare(const task::TaskSetting& setting) override {
    check(options_);
    validate(set_, "rde");
    shape_ = model::shape_of(model_, options_.image_size, 1);
    seed_ = setting.seed;
    device_ = setting.device;
    evaluate_on_ = setting.evaluate_on;
    filler_.emplace(options_, seed_, setting.data_threads);
  }

  std::int64_t example_count(task::Split split) const override {
    return split == task::Split::kTraining ? set_.train_count : set_.test_count;
  }

  task::Batch make_batch(const task::BatchRequest& request) override {
    const std::vector<std::uint64_t>& epoch = indices_of(request);
    const std::span<const std::uint64_t> indices(epoch.data() + request.first,
                                                 static_cast<std::size_t>(request.count));
    const auto host = at::TensorOptions().pinned_memory(device_.is_cuda());
    const auto entries = options_.rectangles + 1;
    task::Batch batch = {
        at::empty({request.count, options_.image_size, options_.image_size}, host.dtype(at::kByte)),
        at::empty({request.count, entries}, host.dtype(at::kFloat)),
        at::empty({request.count, entries}, host.dtype(at::kFloat))};
    filler_->fill(indices, {.rectangles = batch[kRectangles].mutable_data_ptr<std::uint8_t>(),
                            .greys = batch[kGreys].mutable_data_ptr<float>(),
                            .levels = batch[kLevels].mutable_data_ptr<float>()});
    return batch;
  }

  task::Batch to_device(const task::Batch& made) const override {
    const auto moved = [&](std::size_t part) {
      return made[part].to(device_, /*non_blocking=*/true);
    };
    const at::Tensor rectangles = moved(kRectangles);
    const at::Tensor levels = moved(kLevels);
    const at::Tensor places = rectangles.flatten(1).to(at::kLong);
    const auto drawn = [&](const at::Tensor& values) {
      return values.gather(1, places).view(
          {rectangles.size(0), 1, options_.image_size, options_.image_size});
    };
    return {drawn(moved(kGreys)), drawn(levels), rectangles, levels};
  }

  task::TaskModel make_model() const override {
    const auto vit = std::make_shared<model::VitImpl>(shape_, model_.layer_scale);
    if (model_.freeze_norms) {
      model::freeze_norms(*vit);
    }
    task::TaskModel model = {
        vit, [vit](const task::Batch& batch) { return vit->forward(batch[kImages]); }};
    if (vit->has_fused_forward()) {
      model.fused = {vit->copied_parameters(),
                     [vit](const task::Batch& batch, const model::WeightCopies& copies) {
                       return vit->fused_forward(batch[kImages], copies);
                     }};
    }
    return model;
  }

  at::Tensor loss(const at::Tensor& prediction, const task::Batch& batch) const override {
    return at::mse_loss(prediction.to(at::kFloat), batch[kTargets]);
  }

  // An image is right if, for every rectangle, the mean prediction over its visible pixels is
  // nearer to its target than to any other multiple of 1 / rectangles. Tensor functions keep the
  // predictions on the device.
  at::Tensor right_count(const at::Tensor& prediction, const task::Batch& batch) const override {
    const at::Tensor values = prediction.flatten(1).to(at::kDouble);
    const at::Tensor rectangles = batch[kReadyRectangles].flatten(1);
    const auto count = static_cast<double>(options_.rectangles);
    at::Tensor right = at::ones({values.size(0)}, values.options().dtype(at::kBool));
    for (std::int64_t k = 1; k <= options_.rectangles; ++k) {
      const at::Tensor mask = rectangles == k;
      const at::Tensor mean = at::where(mask, values, 0.0).sum(1) / mask.sum(1);
      const at::Tensor height = (batch[kReadyLevels].select(1, k).to(at::kDouble) * count).round();
      right = right & ((mean * count - height).abs() < 0.5);
    }
    return right.sum();
  }

  std::string picture_legend() const override {
    return "input, target and prediction from violet (0) to yellow (1), size of the error from "
           "black (0) to white (0.5 and more)";
  }
  void write_picture(const std::filesystem::path& path, const at::Tensor& prediction,
                     const task::Batch& batch) const override {
    const auto host = [&](const at::Tensor& tensor) {
      return tensor.slice(0, 0, kPictureImages).to(at::kCPU, at::kFloat).contiguous();
    };
    const at::Tensor images = host(batch[kImages]);
    const at::Tensor targets = host(batch[kTargets]);
    const at::Tensor predictions = host(prediction);
    write_prediction_picture(path, {.images = images.const_data_ptr<float>(),
                                    .targets = targets.const_data_ptr<float>(),
                                    .predictions = predictions.const_data_ptr<float>(),
                                    .count = static_cast<int>(images.size(0)),
                                    .size = static_cast<int>(options_.image_size)});
  }

 private:
  const std::vector<std::uint64_t>& indices_of(const task::BatchRequest& request) {
    if (request.split == task::Split::kTest) {
      if (test_.empty()) {
        test_ = evaluation_indices(set_, evaluate_on_);
      }
      return test_;
    }
    if (request.epoch != epoch_) {
      training_ = training_indices(set_, seed_, static_cast<std::uint64_t>(request.epoch));
      epoch_ = request.epoch;
    }
    return training_;
  }

  RdeOptions options_;
  SetOptions set_;
  model::VitOptions model_;
  model::VitShape shape_{};
  std::uint64_t seed_ = 0;
  at::Device device_ = at::kCPU;
  data::EvaluationSet evaluate_on_ = data::EvaluationSet::kTest;
  std::optional<BatchFiller> filler_;
  std::vector<std::uint64_t> training_, test_;
  std::int64_t epoch_ = -1;  // epoch that training_ holds
};

}  // namespace

std::unique_ptr<task::Task> make_task() { return std::make_unique<RdeTask>(); }

}  // namespace sing::lab::rde
