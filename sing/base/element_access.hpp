// Reads and writes one element of any floating type as a double.
#pragma once

#include <cstdint>

#include "sing/base/dtype.hpp"

namespace sing {

inline double load_element(const void* data, Dtype dtype, std::int64_t index) {
  switch (dtype) {
    case Dtype::kFloat64:
      return static_cast<const double*>(data)[index];
    case Dtype::kBFloat16:
      return to_float(static_cast<const BFloat16*>(data)[index]);
    case Dtype::kFloat16:
      return to_float(static_cast<const Float16*>(data)[index]);
    default:
      return static_cast<const float*>(data)[index];
  }
}

// 16-bit types round from float32, as in every other backend.
inline void store_element(void* data, Dtype dtype, std::int64_t index, double value) {
  switch (dtype) {
    case Dtype::kFloat64:
      static_cast<double*>(data)[index] = value;
      break;
    case Dtype::kBFloat16:
      static_cast<BFloat16*>(data)[index] = to_bfloat16(static_cast<float>(value));
      break;
    case Dtype::kFloat16:
      static_cast<Float16*>(data)[index] = to_float16(static_cast<float>(value));
      break;
    default:
      static_cast<float*>(data)[index] = static_cast<float>(value);
  }
}

}  // namespace sing
