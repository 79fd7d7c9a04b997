// Joins input, encoder and prediction, with plain and with fused layers.
#include "lab/encoder/encoder_task_model.hpp"

#include "lab/encoder/padded_batch.hpp"

namespace sing::lab::encoder {

task::TaskModel encoder_task_model(const std::shared_ptr<model::TextModelImpl>& model,
                                   const PredictionOf& prediction_of) {
  return {model,
          [=](const task::Batch& batch) {
            const model::EncoderInput input = encoder_input(batch);
            return prediction_of(model->forward(input), input);
          },
          task::FusedModel{model->copied_parameters(),
                           [=](const task::Batch& batch, const model::WeightCopies& copies) {
                             const model::EncoderInput input = encoder_input(batch);
                             return prediction_of(model->fused_forward(input, copies), input);
                           }}};
}

}  // namespace sing::lab::encoder
