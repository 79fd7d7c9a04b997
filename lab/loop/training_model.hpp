// Makes a task's model for training: its initial weights, its trained parameters, its gradients.
#pragma once

#include <functional>
#include <vector>

#include "adapters/torch/optimizer.hpp"
#include "lab/loop/training_plan.hpp"
#include "lab/task/task.hpp"

namespace sing::lab::loop {

// Makes the model on the plan's device, with weights from the plan's seed.
task::TaskModel make_training_model(const task::Task& task, const TrainingPlan& plan);

// Returns the parameters that are not frozen, with their names.
sing::torch::Parameters trained_parameters(const ::torch::nn::Module& module);

// Returns whether the model has fused layers and they support the plan's device and precision.
bool takes_fused_layers(const task::TaskModel& model, const TrainingPlan& plan);
// Makes the model predict with fused layers, which read bf16 weights kept by the optimizer.
void use_fused_layers(task::TaskModel& model, sing::torch::Optimizer& optimizer);

// Adds the gradients of one part's share of the loss to the parameters' gradients.
using Backward = std::function<void(const at::Tensor& loss)>;
void backward_once(const at::Tensor& loss);

// Leaves the gradients of the mean loss over all parts of a batch in the parameters. Returns that
// mean as a float64 scalar on the device.
at::Tensor compute_gradients(const task::Task& task, const task::TaskModel& model,
                             const TrainingPlan& plan, const std::vector<task::Batch>& parts,
                             const Backward& backward = backward_once);

}  // namespace sing::lab::loop
