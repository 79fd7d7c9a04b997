// Converts tensors to the arguments of the fused kernels.
#pragma once

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "lab/fused/kernels.hpp"

namespace sing::lab::fused {

inline Stream stream_of(const at::Tensor& tensor) {
  const c10::impl::VirtualGuardImpl guard(tensor.device().type());
  return guard.getStream(tensor.device()).native_handle();
}

inline const BFloat16* bits(const at::Tensor& tensor) {
  return static_cast<const BFloat16*>(tensor.const_data_ptr());
}
inline BFloat16* writable_bits(const at::Tensor& tensor) {
  return static_cast<BFloat16*>(tensor.mutable_data_ptr());
}

inline at::Tensor floats(const at::Tensor& like, at::IntArrayRef shape) {
  return at::empty(shape, like.options().dtype(at::kFloat));
}

}  // namespace sing::lab::fused
