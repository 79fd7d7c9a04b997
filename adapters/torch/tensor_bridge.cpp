// Describes LibTorch's tensors to the library, and wraps the library's memory in tensors.
#include "adapters/torch/tensor_bridge.hpp"

#include <ATen/Functions.h>

#include <optional>

#include "adapters/torch/message.hpp"
#include "sing/base/strides.hpp"

namespace sing::torch {
namespace {

std::optional<Dtype> find_dtype(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return Dtype::kFloat32;
    case at::kDouble:
      return Dtype::kFloat64;
    case at::kBFloat16:
      return Dtype::kBFloat16;
    case at::kHalf:
      return Dtype::kFloat16;
    default:
      return std::nullopt;
  }
}

at::ScalarType scalar_type_of(Dtype dtype) {
  for (const at::ScalarType type : {at::kDouble, at::kBFloat16, at::kHalf}) {
    if (find_dtype(type) == dtype) {
      return type;
    }
  }
  return at::kFloat;
}

std::optional<Device> find_device(const at::Device& device) {
  if (device.is_cpu()) {
    return Device{};
  }
  if (device.is_cuda()) {
    return Device{.type = DeviceType::kCuda, .index = device.index()};
  }
  return std::nullopt;
}

}  // namespace

std::string describe(const std::string& name, const at::Tensor& tensor) {
  if (!tensor.defined()) {
    return fmt::format("'{}' (undefined)", name);
  }
  return fmt::format("'{}' {} {} on {}", name, tensor.sizes(), tensor.scalar_type(),
                     tensor.device());
}

Dtype dtype_of(const at::Tensor& tensor) { return find_dtype(tensor.scalar_type()).value(); }

at::Device torch_device(const Device& device) {
  return device.type == DeviceType::kCpu
             ? at::Device(at::kCPU)
             : at::Device(at::kCUDA, static_cast<at::DeviceIndex>(device.index));
}

TensorView view_of(const at::Tensor& tensor) {
  if (tensor.layout() != at::kStrided) {
    return {.is_strided = false};
  }
  return {.device = find_device(tensor.device()),
          .dtype = find_dtype(tensor.scalar_type()),
          .sizes = {tensor.sizes().data(), tensor.sizes().size()},
          .strides = {tensor.strides().data(), tensor.strides().size()}};
}

TensorFacts facts_of(std::string_view role, std::string_view name, const at::Tensor& tensor) {
  const Subject subject{.where = "torch", .role = role, .name = name};
  SING_CHECK(tensor.defined(), "{}wanted a tensor, got an undefined one", subject.text());
  TensorFacts facts = facts_of_parameter(view_of(tensor), subject);
  SING_CHECK(is_dense(facts.sizes, facts.strides),
             "{}wanted memory without gaps and overlaps (no slice, nothing expanded), got strides "
             "{}",
             subject.text(), tensor.strides());
  return facts;
}

at::Tensor laid_out_as(const TensorFacts& parameter, const at::Tensor& tensor) {
  if (lies_alike(view_of(tensor), parameter)) {
    return tensor;
  }
  return at::empty_strided(parameter.sizes, parameter.strides, tensor.options()).copy_(tensor);
}

at::Tensor view_memory(std::shared_ptr<void> memory, Dtype dtype, const Device& device,
                       at::IntArrayRef shape, at::IntArrayRef strides) {
  void* const data = memory.get();
  const at::Device place = torch_device(device);
  return at::from_blob(
      data, shape, strides, [owner = std::move(memory)](void*) mutable { owner.reset(); },
      at::device(place).dtype(scalar_type_of(dtype)), place);
}

}  // namespace sing::torch
