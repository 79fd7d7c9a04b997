// Describes tensors of other libraries, and declares the checks of parameters and gradients that
// all adapters share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sing/base/device.hpp"
#include "sing/base/dtype.hpp"

namespace sing {

// Describes a tensor of another library; the spans point into that tensor.
struct TensorView {
  bool is_strided = true;             // false: sparse or opaque, and the other fields are unknown
  std::optional<Device> device = {};  // none: a device that the library has no backend for
  std::optional<Dtype> dtype = {};    // none: a type that the library has no kernels for
  std::span<const std::int64_t> sizes = {};
  std::span<const std::int64_t> strides = {};
};

// The properties of a parameter's tensor that later tensors are compared with.
struct TensorFacts {
  Device device = {};
  Dtype dtype = Dtype::kFloat32;
  std::vector<std::int64_t> sizes = {};
  std::vector<std::int64_t> strides = {};
};

// The tensor that a message is about, as in "[torch] gradient of 'weight': wanted …".
struct Subject {
  std::string_view where;  // "torch"
  std::string_view role;   // "parameter", "gradient of"
  std::string_view name;

  std::string text() const;  // "[torch] gradient of 'weight': "
};

// The facts of a parameter. Throws std::invalid_argument unless the tensor is strided, floating and
// on a device that the library knows.
TensorFacts facts_of_parameter(const TensorView& tensor, const Subject& subject);

// Throws std::invalid_argument unless the tensor still has the device, type, shape and strides of
// the parameter.
void check_unchanged(const TensorView& tensor, const TensorFacts& parameter,
                     const Subject& subject);

enum class Elsewhere { kRefused, kAllowed };

// Throws std::invalid_argument unless the tensor can be the parameter's gradient or curvature:
// strided, of its shape, of a type that gradients of such a parameter may have, and on its device.
// Elsewhere::kAllowed permits another device, from which the caller copies.
void check_gradient(const TensorView& gradient, const TensorFacts& parameter,
                    const Subject& subject, Elsewhere elsewhere = Elsewhere::kRefused);

// Returns whether the gradient's elements are in the parameter's order in memory; if not, a step
// needs a copy.
bool lies_alike(const TensorView& gradient, const TensorFacts& parameter);

}  // namespace sing
