// Sizes, layouts and descriptions from a parameter's shape and strides.
#include "sing/optim/parameter.hpp"

#include "sing/base/message.hpp"
#include "sing/base/strides.hpp"

namespace sing {

std::size_t count_elements(const std::vector<std::int64_t>& shape) {
  return static_cast<std::size_t>(product(shape));
}

std::vector<std::int64_t> shape_of(SlotShape slot, std::vector<std::int64_t> shape) {
  switch (slot) {
    case SlotShape::kElement:
      break;
    case SlotShape::kMatrixRow:
      shape.pop_back();
      break;
    case SlotShape::kMatrixColumn:
      shape.erase(shape.end() - 2);
      break;
    case SlotShape::kScalar:
      shape.clear();
      break;
  }
  return shape;
}

Layout layout_of(const Parameter& parameter, std::int64_t centralize_axis) {
  return parameter.strides.empty()
             ? make_layout(parameter.shape, centralize_axis)
             : make_layout(parameter.shape, parameter.strides, centralize_axis);
}

std::shared_ptr<const ShardLayout> shard_layout_of(const Parameter& parameter,
                                                   std::int64_t centralize_axis) {
  return parameter.shard ? std::make_shared<const ShardLayout>(make_shard_layout(
                               *parameter.shard, parameter.shape, centralize_axis))
                         : nullptr;
}

bool takes_order(const Rule& rule, std::span<const std::int64_t> shape,
                 std::span<const std::int64_t> strides) {
  const std::int64_t size = product(shape);
  if (shape.size() < 2 || size == 0) {
    return true;
  }
  return std::visit(
      [&]<class R>(const R&) {
        return (!kIsFactored<R> || is_contiguous(shape, strides)) &&
               (!kIsOrthogonal<R> || shape[0] == 1 || strides[0] == size / shape[0]);
      },
      rule);
}

// FNV-1a (Fowler, Noll and Vo) with 64 bits. std::hash may differ between builds, and a resumed run
// must round as the saved one.
std::uint64_t rounding_seed(const Parameter& parameter) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char each : parameter.name) {
    hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3U;
  }
  return hash;
}

std::int64_t first_element(const Parameter& parameter) {
  std::int64_t element = 0;
  if (parameter.shard) {
    for (std::size_t axis = 0; axis < parameter.shape.size(); ++axis) {
      element = element * parameter.shard->whole_shape[axis] + parameter.shard->offset[axis];
    }
  }
  return element;
}

std::string describe(const Parameter& parameter) {
  std::string shape;
  for (const std::int64_t extent : parameter.shape) {
    shape += fmt::format("{}{}", shape.empty() ? "" : ", ", extent);
  }
  return fmt::format("'{}' ({})", parameter.name, shape);
}

}  // namespace sing
