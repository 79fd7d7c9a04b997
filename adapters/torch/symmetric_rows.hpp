// Computes a symmetric product with torch's general ones: blocks of rows up to the diagonal, each
// of which is then mirrored.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sing/base/dtype.hpp"

namespace sing {

// Rows per block. Smaller blocks save operations but make torch's product slower by more than that.
inline constexpr std::int64_t kSymmetricRows = 96;

template <class Real>
void mirror_rows(Real* c, std::int64_t side, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kTile = 16;  // rows and columns that fit the first-level cache
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

// Mirrors rows [begin, end) of a square matrix in host memory, up to column `begin`, into columns
// [begin, end).
inline void mirror_rows(void* c, Dtype dtype, std::int64_t side, std::int64_t begin,
                        std::int64_t end) {
  if (dtype == Dtype::kFloat64) {
    mirror_rows(static_cast<double*>(c), side, begin, end);
  } else {
    mirror_rows(static_cast<float*>(c), side, begin, end);
  }
}

}  // namespace sing
