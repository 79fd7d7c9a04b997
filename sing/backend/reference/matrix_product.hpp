// Matrix products in double, one element at a time, with sums in long double.
#pragma once

#include <algorithm>
#include <vector>

#include "sing/backend/backend.hpp"

namespace sing {

inline void multiply_singly(const MatrixProduct& product) {
  const auto* a = static_cast<const double*>(product.a);
  const auto* b = static_cast<const double*>(product.b);
  auto* c = static_cast<double*>(product.c);
  const auto left = [&](std::int64_t i, std::int64_t k) -> long double {
    return product.a_transposed ? a[k * product.rows + i] : a[i * product.inner + k];
  };
  // B is read in the order of its memory: row by row, or column by column if it is transposed.
  std::vector<long double> sums(static_cast<std::size_t>(product.columns));
  for (std::int64_t i = 0; i < product.rows; ++i) {
    std::fill(sums.begin(), sums.end(), 0.0L);
    for (std::int64_t j = 0; product.b_transposed && j < product.columns; ++j) {
      for (std::int64_t k = 0; k < product.inner; ++k) {
        sums[static_cast<std::size_t>(j)] += left(i, k) * b[j * product.inner + k];
      }
    }
    for (std::int64_t k = 0; !product.b_transposed && k < product.inner; ++k) {
      const long double factor = left(i, k);
      for (std::int64_t j = 0; j < product.columns; ++j) {
        sums[static_cast<std::size_t>(j)] += factor * b[k * product.columns + j];
      }
    }
    for (std::int64_t j = 0; j < product.columns; ++j) {
      double& out = c[i * product.columns + j];
      const auto sum = static_cast<double>(sums[static_cast<std::size_t>(j)]);
      out = product.alpha * sum + (product.beta == 0 ? 0 : product.beta * out);
    }
  }
}

}  // namespace sing
