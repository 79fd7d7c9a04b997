// Makes a text encoder the model of a task.
#pragma once

#include <functional>
#include <memory>

#include "lab/model/text_model.hpp"
#include "lab/task/task.hpp"

namespace sing::lab::encoder {

// Returns the task's prediction from the outputs of the encoder's head.
using PredictionOf =
    std::function<at::Tensor(const at::Tensor& outputs, const model::EncoderInput& input)>;

// The model of a task whose batches begin with PaddedPart's tensors.
task::TaskModel encoder_task_model(const std::shared_ptr<model::TextModelImpl>& model,
                                   const PredictionOf& prediction_of);

}  // namespace sing::lab::encoder
