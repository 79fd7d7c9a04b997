// A task's model in training: its first weights, its trained parameters, its gradients.
#pragma once

#include <functional>
#include <vector>

#include "adapters/torch/optimizer.hpp"
#include "lab/loop/training_plan.hpp"
#include "lab/task/task.hpp"

namespace sing::lab::loop {

// On the plan's device, with weights from the plan's seed.
task::TaskModel make_training_model(const task::Task& task, const TrainingPlan& plan);

// Those that were not taken out of the training, with their names.
sing::torch::Parameters trained_parameters(const ::torch::nn::Module& module);

// Whether the model has fused layers and the plan's device and precision are theirs.
bool takes_fused_layers(const task::TaskModel& model, const TrainingPlan& plan);
// From now on the model predicts with fused layers, from weights that the optimizer keeps in bf16.
void use_fused_layers(task::TaskModel& model, sing::torch::Optimizer& optimizer);

// Adds the gradients of a part's share of the loss to those in the parameters.
using Backward = std::function<void(const at::Tensor& loss)>;
void backward_once(const at::Tensor& loss);

// Leaves in the parameters the gradients of the mean loss over all parts of a batch; gives that
// mean, a scalar of type float64 on the device.
at::Tensor compute_gradients(const task::Task& task, const task::TaskModel& model,
                             const TrainingPlan& plan, const std::vector<task::Batch>& parts,
                             const Backward& backward = backward_once);

}  // namespace sing::lab::loop
