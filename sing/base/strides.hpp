// Strides of a tensor: the distance in memory, in elements, between neighbors along each axis.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace sing {

// Strides of a tensor whose last axis varies fastest.
inline std::vector<std::int64_t> contiguous_strides(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) {
    strides[axis - 1] = strides[axis] * std::max<std::int64_t>(shape[axis], 1);
  }
  return strides;
}

// Returns whether two strides put the elements of this shape in the same places. The stride of an
// axis of one element has no meaning, nor has any stride of a tensor without elements.
inline bool same_places(std::span<const std::int64_t> shape, std::span<const std::int64_t> a,
                        std::span<const std::int64_t> b) {
  bool same = true;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) {
      return true;
    }
    same = same && (a[axis] == b[axis] || shape[axis] == 1);
  }
  return same;
}

inline bool is_contiguous(std::span<const std::int64_t> shape,
                          std::span<const std::int64_t> strides) {
  return same_places(shape, strides, contiguous_strides(shape));
}

// Returns whether the elements fill their memory without gaps and overlaps, in any order of axes.
inline bool is_dense(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) {
      return true;
    }
    if (shape[axis] > 1) {
      axes.push_back(axis);
    }
  }
  std::ranges::sort(axes, {}, [&](std::size_t axis) { return strides[axis]; });
  std::int64_t expected = 1;
  for (const std::size_t axis : axes) {
    if (strides[axis] != expected) {
      return false;
    }
    expected *= shape[axis];
  }
  return true;
}

// Copies the elements of a tensor of this shape from one order in memory to another.
inline void reorder(std::byte* to, std::span<const std::int64_t> to_strides, const std::byte* from,
                    std::span<const std::int64_t> from_strides, std::span<const std::int64_t> shape,
                    std::size_t element_bytes) {
  if (shape.empty()) {
    std::memcpy(to, from, element_bytes);
    return;
  }
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    reorder(to + static_cast<std::size_t>(i * to_strides[0]) * element_bytes, to_strides.subspan(1),
            from + static_cast<std::size_t>(i * from_strides[0]) * element_bytes,
            from_strides.subspan(1), shape.subspan(1), element_bytes);
  }
}

}  // namespace sing
