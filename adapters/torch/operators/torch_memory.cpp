// Memory, threads and tensors of torch for the library.
#include "adapters/torch/operators/torch_memory.hpp"

#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <array>
#include <span>

#include "sing/base/message.hpp"

// Exists since torch 2.11; the headers hide it from a library that serves 2.10 too. Null in 2.10.
extern "C" __attribute__((weak)) AOTITorchError torch_from_blob(
    void* data, std::int64_t rank, const std::int64_t* sizes, const std::int64_t* strides,
    std::int64_t storage_offset, std::int32_t dtype, std::int32_t device_type,
    std::int32_t device_index, AtenTensorHandle* made, std::int32_t layout,
    const std::uint8_t* opaque_metadata, std::int64_t opaque_metadata_size,
    void (*free_data)(void* data, void* context), void* context);

namespace sing::operators {
namespace {

// The deleter of a pointer into a tensor's memory: keeps the tensor alive as long as the pointer.
struct KeepsTensor {
  Tensor tensor;
  void operator()(void* /*memory*/) const {}
};

std::int32_t torch_device_type(const Device& device) {
  return device.type == DeviceType::kCpu ? aoti_torch_device_type_cpu()
                                         : aoti_torch_device_type_cuda();
}

Tensor empty(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides,
             std::int32_t dtype, const Device& device) {
  AtenTensorHandle handle = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(
      static_cast<std::int64_t>(sizes.size()), sizes.data(), strides.data(), dtype,
      torch_device_type(device), device.index, &handle));
  return Tensor(handle);
}

Tensor owner_of(const std::shared_ptr<void>& memory, std::size_t bytes) {
  const auto size = static_cast<std::int64_t>(bytes);
  const std::int64_t stride = 1;
  auto owner = std::make_unique<std::shared_ptr<void>>(memory);
  AtenTensorHandle handle = nullptr;
  TORCH_ERROR_CODE_CHECK(torch_from_blob(
      memory.get(), 1, &size, &stride, 0, aoti_torch_dtype_uint8(), aoti_torch_device_type_cpu(),
      -1,  // the CPU has no number
      &handle, aoti_torch_layout_strided(), nullptr, 0,
      [](void*, void* context) { delete static_cast<std::shared_ptr<void>*>(context); },
      owner.get()));
  static_cast<void>(owner.release());  // the tensor frees it
  return Tensor(handle);
}

struct TaskList {
  const std::function<void(int)>* task;
};

void run_range(std::int64_t begin, std::int64_t end, void* context) {
  const auto& list = *static_cast<const TaskList*>(context);
  for (std::int64_t i = begin; i < end; ++i) {
    (*list.task)(static_cast<int>(i));
  }
}

std::span<const std::int64_t> extents(const torch::headeronly::IntHeaderOnlyArrayRef& values) {
  return {values.data(), values.size()};
}

std::optional<Dtype> dtype_of(std::int32_t torch_dtype) {
  static const std::array<std::pair<std::int32_t, Dtype>, 4> kTypes = {
      {{aoti_torch_dtype_float32(), Dtype::kFloat32},
       {aoti_torch_dtype_bfloat16(), Dtype::kBFloat16},
       {aoti_torch_dtype_float16(), Dtype::kFloat16},
       {aoti_torch_dtype_float64(), Dtype::kFloat64}}};
  for (const auto& [theirs, ours] : kTypes) {
    if (theirs == torch_dtype) {
      return ours;
    }
  }
  return std::nullopt;
}

}  // namespace

std::shared_ptr<void> allocate_bytes(const Device& device, std::size_t bytes) {
  // A tensor without bytes has no address.
  const auto size = static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1));
  Tensor tensor = empty({size}, {1}, aoti_torch_dtype_uint8(), device);
  TORCH_ERROR_CODE_CHECK(aoti_torch_zero_(tensor.get()));
  void* memory = tensor.mutable_data_ptr();
  return {memory, KeepsTensor{std::move(tensor)}};
}

bool can_own_library_memory() { return torch_from_blob != nullptr; }

Tensor bytes_of(const std::shared_ptr<void>& memory, std::size_t bytes) {
  const auto* owner = std::get_deleter<KeepsTensor>(memory);
  if (owner == nullptr) {
    return owner_of(memory, bytes);
  }
  const auto* begin = static_cast<const std::byte*>(owner->tensor.const_data_ptr());
  const std::int64_t offset = static_cast<const std::byte*>(memory.get()) - begin;
  Tensor all = owner->tensor;
  return torch::stable::narrow(all, 0, offset, static_cast<std::int64_t>(bytes));
}

void run_on_torch_threads(int count, const std::function<void(int)>& task) {
  TaskList list{&task};
  TORCH_ERROR_CODE_CHECK(torch_parallel_for(0, count, 1, run_range, &list));
}

TensorView view_of(const Tensor& tensor) {
  static const std::int32_t kStrided = aoti_torch_layout_strided();
  static const std::int32_t kCpu = aoti_torch_device_type_cpu();
  static const std::int32_t kCuda = aoti_torch_device_type_cuda();
  std::int32_t layout = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_layout(tensor.get(), &layout));
  if (layout != kStrided) {
    return {.is_strided = false};
  }
  std::int32_t device_type = 0;
  std::int32_t dtype = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(tensor.get(), &device_type));
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(tensor.get(), &dtype));
  TensorView view{.dtype = dtype_of(dtype),
                  .sizes = extents(tensor.sizes()),
                  .strides = extents(tensor.strides())};
  if (device_type == kCpu) {
    view.device = Device{};
  } else if (device_type == kCuda) {
    view.device = Device{.type = DeviceType::kCuda, .index = tensor.get_device_index()};
  }
  return view;
}

Tensor copied_to_lie_as(const TensorFacts& facts, const Tensor& tensor) {
  std::int32_t dtype = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(tensor.get(), &dtype));
  Tensor copy = empty(facts.sizes, facts.strides, dtype, facts.device);
  TORCH_ERROR_CODE_CHECK(aoti_torch_copy_(copy.get(), tensor.get(), 0));
  return copy;
}

}  // namespace sing::operators
