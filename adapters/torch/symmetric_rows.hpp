// How a symmetric product is carried out with torch's products, which know of no symmetry: blocks
// of rows up to the diagonal, each then mirrored.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sing/base/dtype.hpp"

namespace sing {

// Rows at a time: fewer would cost the product more than they spare it.
inline constexpr std::int64_t kSymmetricRows = 96;

template <class Real>
void mirror_rows(Real* c, std::int64_t side, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kTile = 16;  // rows and columns that stay in the nearest cache
  for (std::int64_t column = 0; column < begin; column += kTile) {
    for (std::int64_t row = begin; row < end; row += kTile) {
      for (std::int64_t j = column; j < std::min(column + kTile, begin); ++j) {
        for (std::int64_t i = row; i < std::min(row + kTile, end); ++i) {
          c[j * side + i] = c[i * side + j];
        }
      }
    }
  }
}

// Copies rows [begin, end) of a square in host memory, as far as column `begin`, to the columns of
// the same numbers.
inline void mirror_rows(void* c, Dtype dtype, std::int64_t side, std::int64_t begin,
                        std::int64_t end) {
  if (dtype == Dtype::kFloat64) {
    mirror_rows(static_cast<double*>(c), side, begin, end);
  } else {
    mirror_rows(static_cast<float*>(c), side, begin, end);
  }
}

}  // namespace sing
