// Checks and conversions of tensors, and a backend that lives in LibTorch's memory and threads.
#include "adapters/torch/tensor_bridge.hpp"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/stable/c/shim.h>

#include <optional>

#include "adapters/torch/message.hpp"
#include "adapters/torch/symmetric_rows.hpp"
#include "sing/base/layout.hpp"

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

// The shim's function is compiled inside LibTorch, so that its pool runs the tasks whatever
// threading library this file was compiled for.
void run_on_torch_threads(int count, const std::function<void(int)>& task) {
  const auto run = [](std::int64_t begin, std::int64_t end, void* context) {
    const auto& each = *static_cast<const std::function<void(int)>*>(context);
    for (std::int64_t i = begin; i < end; ++i) {
      each(static_cast<int>(i));
    }
  };
  void* context = const_cast<void*>(static_cast<const void*>(&task));
  if (torch_parallel_for(0, count, 1, run, context) != AOTI_TORCH_SUCCESS) {
    throw Error("[torch] the thread pool of LibTorch failed");
  }
}

Allocator torch_allocator(const at::Device& device) {
  return [device](std::size_t bytes) {
    const auto size = static_cast<std::int64_t>(bytes == 0 ? 1 : bytes);
    const auto tensor =
        std::make_shared<at::Tensor>(at::zeros({size}, at::device(device).dtype(at::kByte)));
    return std::shared_ptr<void>(tensor, tensor->data_ptr());
  };
}

}  // namespace

Parameters::Parameters(std::initializer_list<at::Tensor> tensors)
    : Parameters(std::vector<at::Tensor>(tensors)) {}

Parameters::Parameters(const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& tensor : tensors) {
    tensors_.emplace_back(std::string(), tensor);
  }
}

Parameters::Parameters(const ::torch::OrderedDict<std::string, at::Tensor>& tensors) {
  for (const auto& item : tensors) {
    tensors_.emplace_back(item.key(), item.value());
  }
}

std::string describe(const std::string& name, const at::Tensor& tensor) {
  if (!tensor.defined()) {
    return fmt::format("'{}' (undefined)", name);
  }
  return fmt::format("'{}' {} {} on {}", name, tensor.sizes(), tensor.scalar_type(),
                     tensor.device());
}

void check_tensor(const std::string& name, const at::Tensor& tensor) {
  const auto who = [&] { return fmt::format("[torch] {}: ", describe(name, tensor)); };
  SING_CHECK(tensor.defined(), "{}wanted a tensor, got an undefined one", who());
  SING_CHECK(tensor.layout() == at::kStrided, "{}wanted a dense tensor, got a sparse one", who());
  SING_CHECK(find_dtype(tensor.scalar_type()), "{}wanted float32, float64, bfloat16 or float16",
             who());
  SING_CHECK(tensor.device().is_cpu() || tensor.device().is_cuda(), "{}wanted a CPU or CUDA device",
             who());
  SING_CHECK(
      tensor.is_non_overlapping_and_dense(),
      "{}wanted memory without gaps and overlaps (no slice, nothing expanded), got strides {}",
      who(), tensor.strides());
}

void check_layout(const std::string& name, const at::Tensor& tensor, const Options& options) {
  if (tensor.is_contiguous()) {
    return;
  }
  const auto who = [&] { return fmt::format("[torch] {}: ", describe(name, tensor)); };
  const bool factored = std::visit([]<class R>(const R&) { return kIsFactored<R>; }, options.rule);
  SING_CHECK(!factored || tensor.dim() < 2, "{}rule '{}' wants contiguous memory, got strides {}",
             who(), name_of(options.rule), tensor.strides());
  const bool orthogonal =
      std::visit([]<class R>(const R&) { return kIsOrthogonal<R>; }, options.rule);
  SING_CHECK(!orthogonal || tensor.dim() < 2 || tensor.size(0) <= 1 ||
                 tensor.stride(0) == tensor.numel() / tensor.size(0),
             "{}rule '{}' wants axis 0 outermost in memory, got strides {}", who(),
             name_of(options.rule), tensor.strides());
  const std::int64_t axis = options.standardize.centralize_axis;
  if (options.standardize.centralizes(tensor.dim()) && axis < tensor.dim()) {
    const std::int64_t inner = product(tensor.sizes().slice(static_cast<std::size_t>(axis) + 1));
    SING_CHECK(tensor.size(axis) == 1 || tensor.stride(axis) == inner,
               "{}centralizing axis {} wants stride {} there, got strides {}", who(), axis, inner,
               tensor.strides());
  }
}

bool same_strides(const at::Tensor& a, const at::Tensor& b) {
  for (std::int64_t axis = 0; axis < a.dim(); ++axis) {
    if (a.size(axis) > 1 && a.stride(axis) != b.stride(axis)) {
      return false;
    }
  }
  return true;
}

Dtype dtype_of(const at::Tensor& tensor) { return find_dtype(tensor.scalar_type()).value(); }

std::vector<std::int64_t> shape_of(const at::Tensor& tensor) { return tensor.sizes().vec(); }

// The product into c, of which the lower triangle is computed.
void multiply_symmetric(const MatrixProduct& product, const at::Tensor& a, const at::Tensor& b,
                        const at::Tensor& c) {
  for (std::int64_t begin = 0; begin < product.rows; begin += kSymmetricRows) {
    const std::int64_t end = std::min(begin + kSymmetricRows, product.rows);
    c.slice(0, begin, end)
        .slice(1, 0, end)
        .addmm_(a.slice(0, begin, end), b.slice(1, 0, end), product.beta, product.alpha);
    mirror_rows(product.c, product.dtype, product.rows, begin, end);
  }
}

// A product by LibTorch, on the current stream and in the precision that the program has set.
Multiply torch_multiply(const at::Device& device) {
  return [device](const MatrixProduct& product) {
    const at::NoGradGuard no_gradients;
    const auto options =
        at::TensorOptions(product.dtype == Dtype::kFloat64 ? at::kDouble : at::kFloat)
            .device(device);
    const auto view = [&](const void* data, std::int64_t rows, std::int64_t columns,
                          bool transposed) {
      auto* memory = const_cast<void*>(data);
      return transposed ? at::from_blob(memory, {product.count, columns, rows}, options).mT()
                        : at::from_blob(memory, {product.count, rows, columns}, options);
    };
    const at::Tensor a = view(product.a, product.rows, product.inner, product.a_transposed);
    const at::Tensor b = view(product.b, product.inner, product.columns, product.b_transposed);
    const at::Tensor c = view(product.c, product.rows, product.columns, false);
    if (!device.is_cpu()) {
      c.baddbmm_(a, b, product.beta, product.alpha);
    } else if (product.is_symmetric) {
      multiply_symmetric(product, a[0], b[0], c[0]);
    } else {
      c[0].addmm_(a[0], b[0], product.beta, product.alpha);
    }
  };
}

std::shared_ptr<Backend> make_backend(const at::Device& device) {
  if (device.is_cpu()) {
    // State in the library's own memory: it has large pages, LibTorch's has not.
    return make_cpu_backend({.executor = run_on_torch_threads, .multiply = torch_multiply(device)});
  }
  return make_cuda_backend({.device = device.index(),
                            .current_stream =
                                [device] {
                                  const c10::impl::VirtualGuardImpl guard(device.type());
                                  return guard.getStream(device).native_handle();
                                },
                            .allocator = torch_allocator(device),
                            .multiply = torch_multiply(device)});
}

at::Tensor view_memory(std::shared_ptr<void> memory, Dtype dtype, const at::Device& device,
                       at::IntArrayRef shape, at::IntArrayRef strides) {
  void* const data = memory.get();
  return at::from_blob(
      data, shape, strides, [owner = std::move(memory)](void*) mutable { owner.reset(); },
      at::device(device).dtype(scalar_type_of(dtype)), device);
}

}  // namespace sing::torch
