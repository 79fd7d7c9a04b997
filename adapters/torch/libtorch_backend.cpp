// A backend that works in LibTorch's memory and on its threads and streams.
#include "adapters/torch/libtorch_backend.hpp"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/stable/c/shim.h>

#include <algorithm>

#include "adapters/torch/symmetric_rows.hpp"
#include "adapters/torch/tensor_bridge.hpp"
#include "sing/base/error.hpp"

namespace sing::torch {
namespace {

// torch_parallel_for of LibTorch's C shim is compiled inside LibTorch, so LibTorch's pool runs the
// tasks whatever threading library this file was compiled for.
void run_on_torch_threads(int count, const std::function<void(int)>& task) {
  const auto run = [](std::int64_t begin, std::int64_t end, void* context) {
    const auto& each = *static_cast<const std::function<void(int)>*>(context);
    for (std::int64_t i = begin; i < end; ++i) {
      each(static_cast<int>(i));
    }
  };
  void* context = const_cast<void*>(static_cast<const void*>(&task));
  if (torch_parallel_for(0, count, 1, run, context) != AOTI_TORCH_SUCCESS) {
    throw Error(
        "[torch] wanted the tasks to run on LibTorch's threads, got an error of its thread pool");
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

// Computes the lower triangle of a symmetric product and mirrors it.
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

// Multiplies with LibTorch, on the current stream and in the precision that the program has set.
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

}  // namespace

std::shared_ptr<Backend> make_libtorch_backend(const Device& served) {
  const at::Device device = torch_device(served);
  if (device.is_cpu()) {
    // State is in the library's own memory, which has large pages; LibTorch's has none.
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

}  // namespace sing::torch
