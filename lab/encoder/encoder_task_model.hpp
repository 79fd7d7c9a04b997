// Makes a text encoder the model of a task.
#pragma once

#include <functional>
#include <memory>

#include "lab/model/text_model.hpp"
#include "lab/task/task.hpp"

namespace sing::lab::encoder {

// What the encoder reads of a batch on its device.
using InputOf = std::function<model::EncoderInput(const task::Batch& batch)>;
// The task's prediction from the outputs of the encoder's head.
using PredictionOf =
    std::function<at::Tensor(const at::Tensor& outputs, const model::EncoderInput& input)>;

task::TaskModel encoder_task_model(const std::shared_ptr<model::TextModelImpl>& model,
                                   const InputOf& input_of, const PredictionOf& prediction_of);

}  // namespace sing::lab::encoder
