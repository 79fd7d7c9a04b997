// Memory and threads of torch for the library.
#include "adapters/torch/operators/torch_memory.hpp"

#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "sing/base/message.hpp"

// Since torch 2.11; its headers hide it from a library that serves 2.10 too. Null where torch has
// none.
extern "C" __attribute__((weak)) AOTITorchError torch_from_blob(
    void* data, std::int64_t rank, const std::int64_t* sizes, const std::int64_t* strides,
    std::int64_t storage_offset, std::int32_t dtype, std::int32_t device_type,
    std::int32_t device_index, AtenTensorHandle* made, std::int32_t layout,
    const std::uint8_t* opaque_metadata, std::int64_t opaque_metadata_size,
    void (*free_data)(void* data, void* context), void* context);

namespace sing::operators {
namespace {

// Owner of memory that the library keeps by pointer.
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
  static_cast<void>(owner.release());  // the tensor's now
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

std::string in_brackets(std::span<const std::int64_t> sizes) {
  std::string text = "[";
  for (const std::int64_t size : sizes) {
    text += fmt::format("{}{}", text.size() > 1 ? ", " : "", size);
  }
  return text + "]";
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

TensorFacts facts_of(const Tensor& tensor, const std::string& who) {
  std::int32_t layout = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_layout(tensor.get(), &layout));
  SING_CHECK(layout == aoti_torch_layout_strided(), "{}wanted a dense tensor, got a sparse one",
             who);
  std::int32_t device_type = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(tensor.get(), &device_type));
  const bool is_cpu = device_type == aoti_torch_device_type_cpu();
  SING_CHECK(is_cpu || device_type == aoti_torch_device_type_cuda(),
             "{}wanted a tensor on the CPU or a CUDA device", who);
  TensorFacts facts;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(tensor.get(), &facts.dtype));
  facts.device =
      is_cpu ? Device{} : Device{.type = DeviceType::kCuda, .index = tensor.get_device_index()};
  const auto sizes = extents(tensor.sizes());
  const auto strides = extents(tensor.strides());
  facts.sizes.assign(sizes.begin(), sizes.end());
  facts.strides.assign(strides.begin(), strides.end());
  return facts;
}

GradientFacts check_gradient(const Tensor& gradient, const TensorFacts& parameter,
                             const std::string& who) {
  static const std::int32_t kStrided = aoti_torch_layout_strided();
  std::int32_t layout = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_layout(gradient.get(), &layout));
  SING_CHECK(layout == kStrided, "{}wanted a dense gradient, got a sparse one", who);
  const auto sizes = extents(gradient.sizes());
  SING_CHECK(std::ranges::equal(sizes, parameter.sizes),
             "{}wanted a gradient of shape {}, got one of shape {}", who,
             in_brackets(parameter.sizes), in_brackets(sizes));
  std::int32_t device_type = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(gradient.get(), &device_type));
  const bool is_cpu = device_type == aoti_torch_device_type_cpu();
  SING_CHECK(is_cpu == (parameter.device.type == DeviceType::kCpu) &&
                 (is_cpu || gradient.get_device_index() == parameter.device.index),
             "{}wanted a gradient on {}, got one on another device", who,
             name_of(parameter.device));
  GradientFacts facts{.dtype = 0, .is_alike = true};
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(gradient.get(), &facts.dtype));
  const auto strides = extents(gradient.strides());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    facts.is_alike = facts.is_alike && (strides[i] == parameter.strides[i] || sizes[i] <= 1);
  }
  return facts;
}

Tensor copied_to_layout(const Tensor& tensor, const TensorFacts& facts) {
  std::int32_t dtype = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(tensor.get(), &dtype));
  Tensor copy = empty(facts.sizes, facts.strides, dtype, facts.device);
  TORCH_ERROR_CODE_CHECK(aoti_torch_copy_(copy.get(), tensor.get(), 0));
  return copy;
}

Dtype dtype_of(std::int32_t torch_dtype, const std::string& who) {
  static const std::int32_t kFloat32 = aoti_torch_dtype_float32();
  static const std::int32_t kBFloat16 = aoti_torch_dtype_bfloat16();
  static const std::int32_t kFloat16 = aoti_torch_dtype_float16();
  static const std::int32_t kFloat64 = aoti_torch_dtype_float64();
  SING_CHECK(torch_dtype == kFloat32 || torch_dtype == kBFloat16 || torch_dtype == kFloat16 ||
                 torch_dtype == kFloat64,
             "{}wanted float32, float64, bfloat16 or float16, got another type", who);
  return torch_dtype == kFloat32    ? Dtype::kFloat32
         : torch_dtype == kBFloat16 ? Dtype::kBFloat16
         : torch_dtype == kFloat16  ? Dtype::kFloat16
                                    : Dtype::kFloat64;
}

Tensor tensor_of(std::string_view bytes) {
  Tensor tensor =
      empty({static_cast<std::int64_t>(bytes.size())}, {1}, aoti_torch_dtype_uint8(), Device{});
  std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

std::string_view view_of(const Tensor& bytes) {
  const TensorFacts facts = facts_of(bytes, "[operators] bytes: ");
  SING_CHECK(
      facts.dtype == aoti_torch_dtype_uint8() && facts.device == Device{} && bytes.is_contiguous(),
      "[operators] wanted contiguous uint8 bytes on the CPU");
  return {static_cast<const char*>(bytes.const_data_ptr()),
          static_cast<std::size_t>(bytes.numel())};
}

}  // namespace sing::operators
