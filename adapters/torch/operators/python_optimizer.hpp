// One optimizer as Python holds it: by number, with torch's tensors in place of pointers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapters/tensor/multi_device_optimizer.hpp"
#include "adapters/tensor/tensor_view.hpp"
#include "adapters/torch/operators/torch_memory.hpp"

namespace sing::operators {

// Keeps no tensor of a parameter: Python's garbage collector could not see that reference.
class PythonOptimizer {
 public:
  // `where` begins the messages about parameters.
  PythonOptimizer(std::string where, Options options);

  // Dense tensors in any order of their axes; `shards` says which of them are parts of tensors,
  // and is empty if none is. `copies` are the places in the list of tensors that
  // Python copies parameters into: their gradients may have any strides and be on any device.
  void add_group(const std::vector<Tensor>& parameters, const std::vector<std::string>& names,
                 const std::vector<std::int64_t>& copies,
                 const std::vector<std::optional<Shard>>& shards, const Overrides& overrides);

  // Sets which parameters the gradients of the following steps belong to, in that order.
  void select(const std::vector<std::int64_t>& parameters);
  // `streams`: the current stream of each of the optimizer's devices, or nothing without CUDA.
  void step(const std::vector<Tensor>& gradients, double loss_scale,
            const std::vector<std::int64_t>& streams);
  void upload(const std::vector<Tensor>& gradients, double loss_scale,
              const std::vector<std::int64_t>& streams);

  // Sets estimates of the Hessian's diagonal of some parameters for the next steps; the others have
  // none.
  void set_curvature(const std::vector<std::int64_t>& parameters,
                     const std::vector<Tensor>& curvatures);

  // Reads the parameters' addresses again; shape, strides, type and device must not have changed.
  void find_data(const std::vector<Tensor>& parameters);

  // `source` is a float32 scalar on one of the optimizer's CUDA devices; without one, steps use the
  // option again.
  void set_learning_rate_source(std::size_t group, std::optional<Tensor> source);

  MultiDeviceOptimizer& optimizer() { return optimizer_; }

 private:
  struct Entry {  // one parameter
    std::string name;
    TensorFacts facts = {};
    Elsewhere elsewhere = Elsewhere::kRefused;
    bool is_shard = false;
    std::optional<Tensor> curvature = {};
    Dtype curvature_dtype = Dtype::kFloat32;
  };

  const Entry& entry_of(std::int64_t parameter) const;
  Subject subject(std::string_view role, const Entry& entry) const;
  void set_streams(const std::vector<std::int64_t>& streams);
  void set_gradients(const std::vector<Tensor>& gradients);

  std::string where_;
  std::map<std::int32_t, void*> streams_;  // by index of the CUDA device
  std::vector<Entry> entries_;
  std::vector<std::size_t> selected_;
  // The step's gradients as they were given, or copies in the parameters' order in memory.
  std::vector<std::pair<const void*, Dtype>> found_;
  std::vector<Tensor> copies_;
  std::vector<std::optional<Tensor>> learning_rates_;
  MultiDeviceOptimizer optimizer_;
};

std::int64_t keep(std::unique_ptr<PythonOptimizer> optimizer);
PythonOptimizer& find(std::int64_t handle);
void drop(std::int64_t handle);

}  // namespace sing::operators
