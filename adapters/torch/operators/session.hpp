// One optimizer of the library as Python holds it: by number, with torch's tensors in place of
// pointers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "adapters/torch/operators/torch_memory.hpp"
#include "sing/optim/optimizer.hpp"

namespace sing::operators {

// A backend whose memory and CPU threads are torch's; `current_stream` matters for CUDA alone.
std::shared_ptr<Backend> make_torch_backend(const Device& device,
                                            std::function<void*()> current_stream);

// All parameters of a session are on one device.
class Session {
 public:
  Session(const Device& device, Options options);

  // `memory_views` are the parameters with their axes in the order of memory: contiguous tensors.
  void add_group(const std::vector<Tensor>& parameters, const std::vector<Tensor>& memory_views,
                 const std::vector<std::string>& names, const Overrides& overrides);

  // The parameters that the following steps bring gradients for, in that order.
  void select(const std::vector<std::int64_t>& parameters);
  void step(const std::vector<Tensor>& gradients, double loss_scale, void* stream);
  void upload(const std::vector<Tensor>& gradients, double loss_scale, void* stream);

  // Estimates of the Hessian's diagonal for some parameters and the next steps; none for others.
  void set_curvature(const std::vector<std::int64_t>& parameters,
                     const std::vector<Tensor>& curvatures);

  // Reads anew where the parameters lie; shape, type and device must be as they were.
  void find_data(const std::vector<Tensor>& parameters);

  // A float32 scalar on the session's device, or nothing: back to the option.
  void set_learning_rate_source(std::size_t group, std::optional<Tensor> source);

  Optimizer& optimizer() { return optimizer_; }

 private:
  struct Place {  // what a gradient must match
    std::string who;
    TensorFacts facts = {};
    Dtype dtype = Dtype::kFloat32;
    Dtype gradient_dtype = Dtype::kFloat32;  // that the optimizer was last told
    std::optional<Tensor> curvature = {};
    Dtype curvature_dtype = Dtype::kFloat32;
  };

  void set_gradients(const std::vector<Tensor>& gradients);
  void check_parameters(const std::vector<std::int64_t>& parameters) const;

  Device device_;
  void* stream_ = nullptr;
  std::vector<Place> places_;
  std::vector<std::size_t> selected_;
  std::vector<std::pair<const void*, Dtype>> found_;  // gradients of the step
  std::vector<Tensor> kept_;                          // copies of gradients that had another layout
  std::vector<std::optional<Tensor>> sources_;
  Optimizer optimizer_;
};

std::int64_t keep_session(std::unique_ptr<Session> session);
Session& find_session(std::int64_t handle);
void drop_session(std::int64_t handle);

}  // namespace sing::operators
