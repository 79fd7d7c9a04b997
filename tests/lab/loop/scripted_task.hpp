// Defines a task for tests of the training loop: its only weight has a gradient that the test
// chooses, and it notes what the loop asks for.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lab/task/counting_task.hpp"

namespace sing::test {

// The loss of an example is gradient · weight + curvature · weight² / 2 + constant.
struct ScriptedExample {
  double gradient = 0;
  double constant = 0;
  double curvature = 0;
};

// The choices of a test. The argument of a function is the number of an example or of an
// evaluation.
struct Script {
  std::int64_t training_examples = 8;  // per epoch
  std::int64_t test_examples = 4;
  // Examples are numbered on from epoch to epoch.
  std::function<ScriptedExample(std::int64_t example)> example = [](std::int64_t) {
    return ScriptedExample{};
  };
  // Test examples that are right in an evaluation, counted from 0.
  std::function<std::int64_t(std::int64_t evaluation)> right = [](std::int64_t) { return 0; };
  // Called in each forward pass of the training with its number from 0; the gradient is multiplied
  // by its result.
  std::function<double(std::int64_t pass)> forward = [](std::int64_t) { return 1.0; };
};

class ScriptedTask : public lab::task::CountingTask {
 public:
  explicit ScriptedTask(Script script) : script_(std::move(script)) {}

  // The requests for a split so far, in order.
  std::vector<lab::task::BatchRequest> requests(lab::task::Split split) const {
    const std::lock_guard lock(mutex_);
    std::vector<lab::task::BatchRequest> found;
    for (const lab::task::BatchRequest& request : requests_) {
      if (request.split == split) {
        found.push_back(request);
      }
    }
    return found;
  }
  // The pictures asked for: the file, and the number of examples in the batch that it shows.
  const std::vector<std::pair<std::filesystem::path, std::int64_t>>& pictures() const {
    return pictures_;
  }
  // Whether the module was in training mode in each forward pass, evaluations included.
  const std::vector<bool>& training_modes() const { return training_modes_; }
  // The weight in each forward pass of the training, and now.
  const std::vector<double>& weights() const { return weights_; }
  double weight() const { return module_->parameters().at(0).item<double>(); }

  void add_flags(CLI::App& /*command*/) override {}
  std::vector<OptionInfo> options() const override { return {}; }
  void prepare(const lab::task::TaskSetting& /*setting*/) override {}

  std::int64_t example_count(lab::task::Split split) const override {
    return split == lab::task::Split::kTraining ? script_.training_examples : script_.test_examples;
  }

  lab::task::Batch make_batch(const lab::task::BatchRequest& request) override {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
    const at::Tensor gradients = at::zeros({request.count}, at::kDouble);
    const at::Tensor constants = at::zeros({request.count}, at::kDouble);
    const at::Tensor curvatures = at::zeros({request.count}, at::kDouble);
    for (std::int64_t index = 0; index < request.count; ++index) {
      const ScriptedExample example =
          script_.example(request.epoch * example_count(request.split) + request.first + index);
      gradients[index] = example.gradient;
      constants[index] = example.constant;
      curvatures[index] = example.curvature;
    }
    return {gradients, constants, curvatures};
  }

  lab::task::Batch to_device(const lab::task::Batch& batch) const override { return batch; }

  lab::task::TaskModel make_model() const override {
    struct OneWeight : ::torch::nn::Module {
      OneWeight() { weight = register_parameter("weight", at::zeros({1})); }
      at::Tensor weight;
    };
    const auto module = std::make_shared<OneWeight>();
    module_ = module;
    return {.module = module, .forward = [this, module](const lab::task::Batch&) {
              training_modes_.push_back(module->is_training());
              if (!at::GradMode::is_enabled()) {
                return module->weight;
              }
              weights_.push_back(module->weight.item<double>());
              const double factor = script_.forward(static_cast<std::int64_t>(weights_.size()) - 1);
              const at::Tensor value = module->weight.detach();
              return value + factor * (module->weight - value);
            }};
  }

  at::Tensor loss(const at::Tensor& prediction, const lab::task::Batch& batch) const override {
    return (batch[0] * prediction + batch[1] + 0.5 * batch[2] * prediction.square()).mean();
  }

  at::Tensor right_count(const at::Tensor& /*prediction*/,
                         const lab::task::Batch& /*batch*/) const override {
    return at::scalar_tensor(script_.right(evaluations_++), at::kLong);
  }

  void write_picture(const std::filesystem::path& path, const at::Tensor& /*prediction*/,
                     const lab::task::Batch& batch) const override {
    pictures_.emplace_back(path, batch[0].numel());
  }

 private:
  Script script_;
  mutable std::mutex mutex_;
  std::vector<lab::task::BatchRequest> requests_;
  mutable std::shared_ptr<::torch::nn::Module> module_;
  mutable std::vector<double> weights_;
  mutable std::vector<bool> training_modes_;
  mutable std::vector<std::pair<std::filesystem::path, std::int64_t>> pictures_;
  mutable std::int64_t evaluations_ = 0;
};

}  // namespace sing::test
