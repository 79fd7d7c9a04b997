// Builds the model and computes the gradients of its loss.
#include "lab/loop/training_model.hpp"

#include <torch/torch.h>

#include "adapters/torch/autocast_guard.hpp"

namespace sing::lab::loop {

namespace {

// Returns the share of each part in the mean loss, or an undefined tensor if all count the same.
at::Tensor weights_of(const task::Task& task, const std::vector<task::Batch>& parts) {
  std::vector<at::Tensor> weights;
  for (const task::Batch& part : parts) {
    const at::Tensor weight = task.weight(part);
    if (!weight.defined()) {
      return {};
    }
    weights.push_back(weight.to(at::kFloat));
  }
  const at::Tensor all = at::stack(weights);
  return all / all.sum();
}

}  // namespace

task::TaskModel make_training_model(const task::Task& task, const TrainingPlan& plan) {
  ::torch::manual_seed(static_cast<std::uint64_t>(plan.training.seed));
  task::TaskModel model = task.make_model();
  model.module->to(plan.device);
  model.module->train();
  return model;
}

sing::torch::Parameters trained_parameters(const ::torch::nn::Module& module) {
  std::vector<sing::torch::NamedTensor> parameters;
  for (const auto& item : module.named_parameters()) {
    if (item.value().requires_grad()) {
      parameters.emplace_back(item.key(), item.value());
    }
  }
  return parameters;
}

bool takes_fused_layers(const task::TaskModel& model, const TrainingPlan& plan) {
  return model.fused.has_value() && plan.device.is_cuda() &&
         plan.training.precision == Precision::kBFloat16;
}

void use_fused_layers(task::TaskModel& model, sing::torch::Optimizer& optimizer) {
  model::WeightCopies copies;
  for (const at::Tensor& wanted : model.fused->copied) {
    for (const auto& item : model.module->named_parameters()) {
      if (item.value().is_same(wanted)) {
        copies.add(wanted, wanted.requires_grad() ? optimizer.keep_copy(item.key())
                                                  : wanted.to(at::kBFloat16));
      }
    }
  }
  model.forward = [forward = model.fused->forward, copies](const task::Batch& batch) {
    return forward(batch, copies);
  };
}

void backward_once(const at::Tensor& loss) { loss.backward(); }

at::Tensor compute_gradients(const task::Task& task, const task::TaskModel& model,
                             const TrainingPlan& plan, const std::vector<task::Batch>& parts,
                             const Backward& backward) {
  model.module->zero_grad();
  const at::Tensor weights = parts.size() > 1 ? weights_of(task, parts) : at::Tensor();
  at::Tensor total;
  for (std::size_t at = 0; at < parts.size(); ++at) {
    at::Tensor loss;
    {
      const sing::torch::AutocastGuard autocast(plan.device.type(), at::kBFloat16,
                                                plan.training.precision == Precision::kBFloat16);
      const task::Batch ready = task.to_device(parts[at]);
      loss = task.loss(model.forward(ready), ready);
    }
    if (weights.defined()) {
      loss = loss * weights[static_cast<std::int64_t>(at)];
    } else if (parts.size() > 1) {
      loss = loss / static_cast<std::int64_t>(parts.size());
    }
    backward(loss);
    const at::Tensor value = loss.detach().to(at::kDouble);
    total = total.defined() ? total + value : value;
  }
  return total;
}

}  // namespace sing::lab::loop
