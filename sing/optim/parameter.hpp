// A tensor of the caller and its gradient, which the optimizer reads and writes in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sing/base/dtype.hpp"
#include "sing/base/layout.hpp"
#include "sing/base/shard.hpp"
#include "sing/rule/rules.hpp"

namespace sing {

// The tensor is dense in any order of its axes. Its gradient, its state and its 16-bit copy have
// the same order.
struct Parameter {
  std::string name = {};  // key of its state; if empty, its index in the optimizer
  void* data = nullptr;
  std::vector<std::int64_t> shape = {};
  std::vector<std::int64_t> strides = {};  // in elements; if empty, contiguous
  std::optional<Shard> shard = {};  // if set, the tensor is a part of one that processes share
  Dtype dtype = Dtype::kFloat32;
  const void* gradient = nullptr;            // null if there is none yet
  std::optional<Dtype> gradient_dtype = {};  // if unset, the parameter's type
  void* low_precision_copy = nullptr;  // 16-bit copy of a float32 parameter, written by each step
  Dtype low_precision_dtype = Dtype::kBFloat16;
};

std::size_t count_elements(const std::vector<std::int64_t>& shape);

// The shape of a slot, for a parameter of this shape.
std::vector<std::int64_t> shape_of(SlotShape slot, std::vector<std::int64_t> shape);

// The rows and matrices of a parameter in memory.
Layout layout_of(const Parameter& parameter, std::int64_t centralize_axis);

// Returns the layout of the whole tensor for a step; null unless the parameter is a shard.
std::shared_ptr<const ShardLayout> shard_layout_of(const Parameter& parameter,
                                                   std::int64_t centralize_axis);

// Returns whether a rule finds the matrices it works on in a tensor of this order in memory:
// factored moments need a contiguous tensor, orthogonal updates one whose axis 0 is outermost.
bool takes_order(const Rule& rule, std::span<const std::int64_t> shape,
                 std::span<const std::int64_t> strides);

// The parameter's name as a number, by which stochastic rounding tells tensors apart.
std::uint64_t rounding_seed(const Parameter& parameter);

// The number of the parameter's first element: 0, or its place in the whole tensor if it is a
// shard, so that processes that cut a tensor along axis 0 round as one process would.
std::int64_t first_element(const Parameter& parameter);

// Name and shape, for messages.
std::string describe(const Parameter& parameter);

}  // namespace sing
