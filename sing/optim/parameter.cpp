// Counting and describing a parameter's elements.
#include "sing/optim/parameter.hpp"

#include "sing/base/layout.hpp"
#include "sing/base/message.hpp"

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

std::string describe(const Parameter& parameter) {
  std::string shape;
  for (const std::int64_t extent : parameter.shape) {
    shape += fmt::format("{}{}", shape.empty() ? "" : ", ", extent);
  }
  return fmt::format("'{}' ({})", parameter.name, shape);
}

}  // namespace sing
