// Runs the first steps directly, because libraries initialize themselves in them, then records a
// graph and replays it.
#include "lab/loop/gradient_pass.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <utility>

namespace sing::lab::loop {
namespace {

constexpr int kRunsBeforeRecording = 3;

bool same_shapes(const std::vector<task::Batch>& a, const std::vector<task::Batch>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const task::Batch& x, const task::Batch& y) {
        return std::equal(
            x.begin(), x.end(), y.begin(), y.end(),
            [](const at::Tensor& s, const at::Tensor& t) { return s.sizes() == t.sizes(); });
      });
}

}  // namespace

GradientPass::GradientPass(const at::Device& device, Work work, bool record)
    : device_(device), work_(std::move(work)), record_(record && device.is_cuda()) {}

void GradientPass::copy_in(const std::vector<task::Batch>& parts) {
  if (!same_shapes(inputs_, parts)) {
    inputs_.clear();
    graph_.reset();
    runs_ = 0;
    for (const task::Batch& part : parts) {
      task::Batch& input = inputs_.emplace_back();
      for (const at::Tensor& tensor : part) {
        input.push_back(
            at::empty_like(tensor, tensor.options().device(device_).pinned_memory(false)));
      }
    }
  }
  for (std::size_t part = 0; part < parts.size(); ++part) {
    for (std::size_t i = 0; i < parts[part].size(); ++i) {
      inputs_[part][i].copy_(parts[part][i], /*non_blocking=*/true);
    }
  }
}

at::Tensor GradientPass::run(const std::vector<task::Batch>& parts) {
  if (!record_) {
    return work_(parts);
  }
  copy_in(parts);
  if (runs_ < kRunsBeforeRecording) {
    ++runs_;
    return work_(inputs_);
  }
  if (!graph_) {
    graph_ = make_step_graph();
    graph_->record([this] { loss_ = work_(inputs_); });
  }
  graph_->replay();
  return loss_;
}

}  // namespace sing::lab::loop
