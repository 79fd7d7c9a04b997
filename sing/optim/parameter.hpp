// What a caller hands to the optimizer: one tensor and its gradient, never copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sing/base/dtype.hpp"
#include "sing/rule/update_rule.hpp"

namespace sing {

// Any dense layout whose axis 0 is outermost in memory, the same for gradient and parameter.
struct Parameter {
  std::string name = {};  // key of its state; empty: its position in the optimizer
  void* data = nullptr;
  std::vector<std::int64_t> shape = {};
  Dtype dtype = Dtype::kFloat32;
  const void* gradient = nullptr;            // null: none yet
  std::optional<Dtype> gradient_dtype = {};  // unset: as the parameter
  void* low_precision_copy = nullptr;        // written by each step beside a float32 parameter
  Dtype low_precision_dtype = Dtype::kBFloat16;
};

std::size_t count_elements(const std::vector<std::int64_t>& shape);

// The shape of a slot of a parameter of this shape.
std::vector<std::int64_t> shape_of(SlotShape slot, std::vector<std::int64_t> shape);

// Name and shape, for messages.
std::string describe(const Parameter& parameter);

}  // namespace sing
