// A matrix product in blocks that stay in cache.
#pragma once

#include "sing/backend/backend.hpp"
#include "sing/backend/cpu/kernel/lanes.hpp"
#include "sing/backend/cpu/kernels.hpp"

namespace sing::cpu::SING_ISA {
namespace {

// A panel is the part of B that is packed at a time (128 KB of float), a strip its columns that one
// tile of C spans, a tile the part of C whose sums stay in registers.
inline constexpr std::int64_t kPanelInner = 128;
inline constexpr std::int64_t kPanelColumns = 256;  // a multiple of every strip
inline constexpr int kTileRows = 4;
inline constexpr int kTileVectors = 2;

template <class Real>
inline constexpr int kStrip = kTileVectors * Lanes<Real>::kWidth;

// Packs these rows and columns of B, strip by strip, padded with zeros.
template <class Real>
void pack_panel(const MatrixProduct& product, IndexRange inner, IndexRange columns,
                Real* __restrict panel) {
  const auto* b = static_cast<const Real*>(product.b);
  const std::int64_t row_stride = product.b_transposed ? 1 : product.columns;
  const std::int64_t column_stride = product.b_transposed ? product.inner : 1;
  for (std::int64_t j = columns.begin; j < columns.end; j += kStrip<Real>) {
    for (std::int64_t k = inner.begin; k < inner.end; ++k) {
      for (int s = 0; s < kStrip<Real>; ++s) {
        *panel++ = j + s < columns.end ? b[k * row_stride + (j + s) * column_stride] : Real(0);
      }
    }
  }
}

// The sums of a tile of four rows and one strip, each in the order of the inner index, whatever the
// vector width.
template <class Real>
SING_HOST_DEVICE void sum_tile(const Real* const (&rows)[kTileRows], std::int64_t inner_stride,
                               std::int64_t depth, const Real* strip,
                               Real (&sums)[kTileRows][kStrip<Real>]) {
  using Vector = typename Lanes<Real>::Vector;
  Vector total[kTileRows][kTileVectors] = {};
  for (std::int64_t k = 0; k < depth; ++k) {
    Vector right[kTileVectors];
    __builtin_memcpy(right, strip + k * kStrip<Real>, sizeof(right));
#pragma GCC unroll 4
    for (int r = 0; r < kTileRows; ++r) {
      const Real left = rows[r][k * inner_stride];
#pragma GCC unroll 2
      for (int v = 0; v < kTileVectors; ++v) {
        total[r][v] += left * right[v];
      }
    }
  }
  __builtin_memcpy(sums, total, sizeof(sums));
}

// Adds the product with one panel to C. A symmetric product computes only the tiles on and below
// the diagonal.
template <class Real>
void multiply_panel(const MatrixProduct& product, IndexRange inner, IndexRange columns,
                    const Real* panel) {
  const auto* a = static_cast<const Real*>(product.a);
  auto* c = static_cast<Real*>(product.c);
  const std::int64_t row_stride = product.a_transposed ? 1 : product.inner;
  const std::int64_t inner_stride = product.a_transposed ? product.rows : 1;
  const std::int64_t depth = inner.end - inner.begin;
  const auto alpha = static_cast<Real>(product.alpha);
  const auto beta = static_cast<Real>(inner.begin == 0 ? product.beta : 1.0);
  const std::int64_t first = product.is_symmetric ? columns.begin / kTileRows * kTileRows : 0;
  for (std::int64_t i = first; i < product.rows; i += kTileRows) {
    const std::int64_t height = least(kTileRows, product.rows - i);
    const Real* rows[kTileRows];
    for (std::int64_t r = 0; r < kTileRows; ++r) {  // missing rows repeat the last one
      rows[r] = a + (i + least(r, height - 1)) * row_stride + inner.begin * inner_stride;
    }
    const std::int64_t last = product.is_symmetric ? least(columns.end, i + height) : columns.end;
    const Real* strip = panel;
    for (std::int64_t j = columns.begin; j < last; j += kStrip<Real>) {
      Real sums[kTileRows][kStrip<Real>];
      sum_tile<Real>(rows, inner_stride, depth, strip, sums);
      strip += depth * kStrip<Real>;
      const std::int64_t width = least(kStrip<Real>, columns.end - j);
      for (std::int64_t r = 0; r < height; ++r) {
        Real* out = c + (i + r) * product.columns + j;
        for (std::int64_t s = 0; s < width; ++s) {
          out[s] = alpha * sums[r][s] + (beta == Real(0) ? Real(0) : beta * out[s]);
        }
      }
    }
  }
}

// Copies the lower triangle to the upper one, square by square so that both stay in cache.
template <class Real>
void mirror(Real* c, std::int64_t side) {
  constexpr std::int64_t kSquare = 32;
  for (std::int64_t i0 = 0; i0 < side; i0 += kSquare) {
    for (std::int64_t j0 = 0; j0 <= i0; j0 += kSquare) {
      for (std::int64_t i = i0; i < least(i0 + kSquare, side); ++i) {
        for (std::int64_t j = j0; j < least(j0 + kSquare, i); ++j) {
          c[j * side + i] = c[i * side + j];
        }
      }
    }
  }
}

template <class Real>
void multiply(const MatrixProduct& product) {
  alignas(64) Real panel[kPanelInner * kPanelColumns];
  for (std::int64_t j = 0; j < product.columns; j += kPanelColumns) {
    const IndexRange columns{j, least(j + kPanelColumns, product.columns)};
    for (std::int64_t k = 0; k < product.inner; k += kPanelInner) {
      const IndexRange inner{k, least(k + kPanelInner, product.inner)};
      pack_panel(product, inner, columns, panel);
      multiply_panel(product, inner, columns, static_cast<const Real*>(panel));
    }
  }
  if (product.is_symmetric) {
    mirror(static_cast<Real*>(product.c), product.rows);
  }
}

}  // namespace
}  // namespace sing::cpu::SING_ISA
