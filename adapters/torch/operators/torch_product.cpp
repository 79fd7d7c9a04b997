// Matrix products by torch's own library, for rules that need them on the CPU.
#include "adapters/torch/operators/torch_product.hpp"

#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <algorithm>
#include <array>

#include "adapters/torch/operators/torch_memory.hpp"
#include "adapters/torch/symmetric_rows.hpp"

namespace sing::operators {
namespace {

// A dense row-major matrix of the caller, or the transpose of one.
struct Matrix {
  const void* data;
  std::int64_t rows, columns;
  bool is_transposed;
  Dtype dtype;

  // Rows [row, row + row_count) and columns [column, column + column_count).
  Tensor block(std::int64_t row, std::int64_t row_count, std::int64_t column,
               std::int64_t column_count) const {
    const std::int64_t row_stride = is_transposed ? 1 : columns;
    const std::int64_t column_stride = is_transposed ? rows : 1;
    const std::array sizes{row_count, column_count};
    const std::array strides{row_stride, column_stride};
    const std::int64_t offset = row * row_stride + column * column_stride;
    AtenTensorHandle handle = nullptr;
    TORCH_ERROR_CODE_CHECK(aoti_torch_create_tensor_from_blob(
        const_cast<std::byte*>(static_cast<const std::byte*>(data)) +
            static_cast<std::size_t>(offset) * size_of(dtype),
        2, sizes.data(), strides.data(), 0,
        dtype == Dtype::kFloat64 ? aoti_torch_dtype_float64() : aoti_torch_dtype_float32(),
        aoti_torch_device_type_cpu(), 0, &handle));
    return Tensor(handle);
  }
};

}  // namespace

void multiply_by_torch(const MatrixProduct& product) {
  const Matrix a{product.a, product.rows, product.inner, product.a_transposed, product.dtype};
  const Matrix b{product.b, product.inner, product.columns, product.b_transposed, product.dtype};
  const Matrix c{product.c, product.rows, product.columns, false, product.dtype};
  const std::int64_t height = product.is_symmetric ? kSymmetricRows : product.rows;
  for (std::int64_t row = 0; row < product.rows; row += height) {
    const std::int64_t count = std::min(height, product.rows - row);
    const std::int64_t width = product.is_symmetric ? row + count : product.columns;
    const Tensor out = c.block(row, count, 0, width);
    TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_addmm_out(
        out.get(), out.get(), a.block(row, count, 0, product.inner).get(),
        b.block(0, product.inner, 0, width).get(), product.beta, product.alpha));
    if (product.is_symmetric) {
      mirror_rows(product.c, product.dtype, product.rows, row, row + count);
    }
  }
}

}  // namespace sing::operators
