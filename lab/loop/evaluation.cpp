// Evaluates a model.
#include "lab/loop/evaluation.hpp"

#include <torch/torch.h>

#include <algorithm>

#include "adapters/torch/autocast_guard.hpp"
#include "lab/loop/prefetcher.hpp"

namespace sing::lab::loop {

Evaluation evaluate(task::Task& task, task::TaskModel& model, const EvaluationSetting& setting,
                    std::mutex& task_mutex) {
  const at::NoGradGuard no_gradient;
  const bool was_training = model.module->is_training();
  model.module->eval();
  const std::int64_t examples = task.example_count(task::Split::kTest);
  const std::int64_t batches = (examples + setting.batch - 1) / setting.batch;
  const auto count_of = [&](std::int64_t batch) {
    return std::min(setting.batch, examples - batch * setting.batch);
  };
  Prefetcher<task::Batch> source(
      [&](std::int64_t batch) {
        const std::lock_guard lock(task_mutex);
        return task.make_batch({task::Split::kTest, 0, batch * setting.batch, count_of(batch)});
      },
      0, batches);

  at::Tensor loss = at::zeros({}, at::TensorOptions(setting.device).dtype(at::kDouble));
  at::Tensor right = at::zeros({}, at::TensorOptions(setting.device).dtype(at::kLong));
  for (std::int64_t index = 0; index < batches; ++index) {
    const task::Batch batch = task.to_device(source.next());
    at::Tensor prediction;
    {
      const sing::torch::AutocastGuard autocast(setting.device.type(), at::kBFloat16,
                                                setting.precision == Precision::kBFloat16);
      prediction = model.forward(batch);
    }
    loss += task.loss(prediction, batch).to(at::kDouble) * static_cast<double>(count_of(index));
    right += task.right_count(prediction, batch);
    if (index == 0 && !setting.picture.empty()) {
      task.write_picture(setting.picture, prediction, batch);
    }
  }
  model.module->train(was_training);
  const auto total = static_cast<double>(examples);
  return {loss.item<double>() / total, static_cast<double>(right.item<std::int64_t>()) / total};
}

}  // namespace sing::lab::loop
