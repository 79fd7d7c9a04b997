// Runs the first steps of each shape directly, because libraries initialize themselves in them and
// rare shapes are not worth a graph, then records a graph and replays it.
#include "lab/loop/gradient_pass.hpp"

#include <torch/torch.h>

#include <utility>

namespace sing::lab::loop {
namespace {

constexpr int kRunsBeforeRecording = 3;

// Returns a tensor that does not keep the memory of `gradient`, so that the next graph can use it.
at::Tensor view_without_memory(const at::Tensor& gradient) {
  return gradient.defined() ? at::from_blob(gradient.mutable_data_ptr(), gradient.sizes(),
                                            gradient.strides(), gradient.options())
                            : gradient;
}

}  // namespace

GradientPass::GradientPass(const at::Device& device, std::vector<at::Tensor> parameters, Work work,
                           bool record)
    : device_(device),
      parameters_(std::move(parameters)),
      work_(std::move(work)),
      record_(record && device.is_cuda()) {}

GradientPass::Shapes GradientPass::shapes_of(const std::vector<task::Batch>& parts) {
  Shapes shapes;
  for (const task::Batch& part : parts) {
    for (const at::Tensor& tensor : part) {
      shapes.push_back(tensor.dim());
      shapes.insert(shapes.end(), tensor.sizes().begin(), tensor.sizes().end());
    }
  }
  return shapes;
}

void GradientPass::copy_in(const std::vector<task::Batch>& parts, Recording& recording) {
  for (std::size_t part = 0; part < parts.size(); ++part) {
    for (std::size_t i = 0; i < parts[part].size(); ++i) {
      recording.inputs[part][i].copy_(parts[part][i], /*non_blocking=*/true);
    }
  }
}

void GradientPass::record(const std::vector<task::Batch>& parts, Recording& recording) {
  for (const task::Batch& part : parts) {
    task::Batch& input = recording.inputs.emplace_back();
    for (const at::Tensor& tensor : part) {
      input.push_back(
          at::empty_like(tensor, tensor.options().device(device_).pinned_memory(false)));
    }
  }
  recording.graph = make_step_graph(first_graph_);
  recording.graph->record([&] { recording.loss = work_(recording.inputs); });
  if (first_graph_ == nullptr) {
    first_graph_ = recording.graph.get();
  }
  ++graph_count_;
  for (const at::Tensor& parameter : parameters_) {
    recording.gradients.push_back(view_without_memory(parameter.grad()));
  }
}

at::Tensor GradientPass::run(const std::vector<task::Batch>& parts) {
  if (!record_) {
    return work_(parts);
  }
  Recording& recording = recordings_[shapes_of(parts)];
  if (!recording.graph) {
    if (recording.runs < kRunsBeforeRecording || graph_count_ == kMostGraphs) {
      ++recording.runs;
      return work_(parts);
    }
    record(parts, recording);
  }
  copy_in(parts, recording);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i].mutable_grad() = recording.gradients[i];
  }
  recording.graph->replay();
  return recording.loss;
}

}  // namespace sing::lab::loop
