// Evaluates a model.
#include "lab/loop/evaluation.hpp"

#include <torch/torch.h>

#include <memory>

#include "adapters/torch/autocast_guard.hpp"
#include "lab/loop/prefetcher.hpp"
#include "sing/io/atomic_file.hpp"

namespace sing::lab::loop {

Evaluation evaluate(task::Task& task, task::TaskModel& model, const EvaluationSetting& setting,
                    std::mutex& task_mutex) {
  const at::NoGradGuard no_gradient;
  const bool was_training = model.module->is_training();
  model.module->eval();
  const std::int64_t examples = task.example_count(task::Split::kTest);
  const std::int64_t batches = task.batch_count(task::Split::kTest, setting.batch);
  const auto request = [&](std::int64_t index) {
    return task::batch_request(task::Split::kTest, 0, index, setting.batch, examples);
  };
  Prefetcher<task::Batch> source(
      [&](std::int64_t index) {
        const std::lock_guard lock(task_mutex);
        return task.make_batch(request(index));
      },
      0, batches);

  const std::unique_ptr<task::Evaluator> evaluator = task.make_evaluator(model);
  const at::Tensor loss_sum = at::zeros({}, at::TensorOptions(setting.device).dtype(at::kDouble));
  const at::Tensor weight_sum = at::zeros_like(loss_sum);
  for (std::int64_t index = 0; index < batches; ++index) {
    const task::Batch made = source.next();
    const task::Batch batch = task.to_device(made);
    at::Tensor prediction;
    {
      const sing::torch::AutocastGuard autocast(setting.device.type(), at::kBFloat16,
                                                setting.precision == Precision::kBFloat16);
      prediction = model.forward(batch);
    }
    at::Tensor weight = task.weight(made);
    if (!weight.defined()) {
      weight = at::scalar_tensor(request(index).count, at::kDouble);
    }
    loss_sum.add_(task.loss(prediction, batch).to(at::kDouble) * weight);
    weight_sum.add_(weight);
    evaluator->add(prediction, batch);
    if (index == 0 && !setting.picture.empty()) {
      task.write_picture(setting.picture, prediction, batch);
    }
  }
  const double loss = loss_sum.item<double>() / weight_sum.item<double>();
  task::Scores scores = evaluator->scores(loss);
  model.module->train(was_training);
  if (!scores.sample.empty() && !setting.sample.empty()) {
    replace_file(setting.sample, scores.sample);
  }
  return {loss, scores.accuracy, std::move(scores.others)};
}

}  // namespace sing::lab::loop
