// The kernels of factored moments for shards: sums of rows and columns of matrices of which this
// process has a part. Launch shape: kFactorBlocks blocks per shard, blockIdx.x numbers the shards.
#pragma once

#include "sing/backend/cuda/kernel/apply.cuh"
#include "sing/backend/cuda/kernel/factors.cuh"
#include "sing/backend/cuda/kernel/shard_records.hpp"

namespace sing::cuda {

// One factored shard, as all of these kernels see it.
template <class R, class Real>
struct FactorShard {
  const ShardArguments& shards;
  const FactorRecord& record;
  const TensorRecord& tensor;

  __device__ explicit FactorShard(const ShardArguments& all)
      : shards(all),
        record(all.factor_records[all.begin + blockIdx.x]),
        tensor(all.step.tensors[record.tensor]) {}

  // Returns whether this step updates the tensor; all processes agree on it.
  __device__ bool updates() const {
    return shards.step.gradients[record.tensor].data != nullptr && !step_is_skipped(shards.step) &&
           load_result(&shards.step.results[record.tensor]).updates != 0;
  }
  __device__ std::int64_t rows() const { return tensor.matrices * tensor.matrix_rows; }
  __device__ std::int64_t columns() const { return tensor.matrices * tensor.columns; }
  __device__ Real* row_factors() const {
    return static_cast<Real*>(tensor.slots[kElementSlotCount<R>]);
  }
  __device__ Real* column_factors() const {
    return static_cast<Real*>(tensor.slots[kElementSlotCount<R> + 1]);
  }

  __device__ std::int64_t row_in_whole(std::int64_t row) const {
    return in_whole(0, record.rank - 1, row);
  }
  __device__ std::int64_t column_in_whole(std::int64_t column) const {
    return in_whole(record.rank - 1, record.rank - 1, column);
  }
  __device__ std::int64_t matrix_in_whole(std::int64_t matrix) const {
    return in_whole(2 * record.rank - 2, record.rank - 2, matrix);
  }

  // Returns the sum of a matrix's row factors, valid in thread 0 of the block.
  __device__ double sum_of_row_factors(std::int64_t matrix, double* shared) const {
    double sum[1] = {0};
    for (std::int64_t row = threadIdx.x; row < tensor.matrix_rows; row += kPassThreads) {
      sum[0] += static_cast<double>(row_factors()[matrix * tensor.matrix_rows + row]);
    }
    block_sum(sum, shared);
    return sum[0];
  }

  // Returns the weight of this part's row factors in a sum over parts: all parts with elements of a
  // row have its factor, and each counts it by its share of the columns.
  __device__ double share_of_columns() const {
    return static_cast<double>(tensor.columns) / static_cast<double>(record.whole_columns);
  }

  // Calls visit(i) for this thread's share of the numbers below count.
  template <class Visit>
  __device__ static void for_each(std::int64_t count, Visit visit) {
    const std::int64_t stride = std::int64_t{gridDim.y} * kPassThreads;
    for (std::int64_t i = std::int64_t{blockIdx.y} * kPassThreads + threadIdx.x; i < count;
         i += stride) {
      visit(i);
    }
  }

 private:
  // Does what Region::in_whole() does, for the axes [first_axis, first_axis + count).
  __device__ std::int64_t in_whole(std::int64_t first_axis, std::int64_t count,
                                   std::int64_t position) const {
    const std::int64_t* const axes = shards.axes + record.axes + 3 * first_axis;
    std::int64_t found = 0;
    std::int64_t stride = 1;
    for (std::int64_t axis = count; axis-- > 0;) {
      const std::int64_t extent = axes[3 * axis];
      const std::int64_t rest = quotient(position, extent);
      found += (position - rest * extent + axes[3 * axis + 2]) * stride;
      position = rest;
      stride *= axes[3 * axis + 1];
    }
    return found;
  }
};

// Sums rows with one warp per row, and columns with one lane per column, whose rows the warps
// share. The sum of a row that is not cut is complete, so its factor is blended at once.
template <class R, class Real>
__global__ void __launch_bounds__(kPassThreads)
    shard_factor_sums(const __grid_constant__ ShardArguments shards) {
  __shared__ StridedShared shared;
  const FactorShard<R, Real> own(shards);
  if (!own.updates()) {
    return;
  }
  const TensorRecord& tensor = own.tensor;
  const FactorRecord& record = own.record;
  const FactorInput<R, Real> input(shards.step, record.tensor);
  const Team team = block_team();
  const std::int64_t first = std::int64_t{blockIdx.y} * kPassWarps + team.warp();
  for (std::int64_t row = first; row < own.rows(); row += std::int64_t{gridDim.y} * kPassWarps) {
    double sum = 0;
    for (std::int64_t k = team.lane(); k < tensor.columns; k += 32) {
      sum += input(row * tensor.columns + k);
    }
    sum = warp_sum(sum);
    if (team.lane() == 0 && record.cuts_rows) {
      shards.part_factors[record.row_sums + row] = sum;
    } else if (team.lane() == 0) {
      blend_factor<R>(shards.step, record.tensor, own.row_factors() + row,
                      sum / static_cast<double>(record.whole_columns));
    }
  }
  for (std::int64_t begin = std::int64_t{blockIdx.y} * 32; begin < own.columns();
       begin += std::int64_t{gridDim.y} * 32) {
    const std::int64_t column = begin + team.lane();
    double part = 0;
    if (column < own.columns()) {
      const std::int64_t matrix = quotient(column, tensor.columns);
      const std::int64_t base =
          matrix * tensor.matrix_rows * tensor.columns + (column - matrix * tensor.columns);
      for (std::int64_t row = team.warp(); row < tensor.matrix_rows; row += team.warps()) {
        part += input(base + row * tensor.columns);
      }
    }
    __syncthreads();
    shared.sums[team.warp()][team.lane()] = part;
    __syncthreads();
    if (team.warp() == 0 && column < own.columns()) {
      double sum = 0;
      for (int warp = 0; warp < team.warps(); ++warp) {
        sum += shared.sums[warp][team.lane()];
      }
      shards.part_factors[record.column_sums + column] = sum;
    }
  }
}

// Writes the part's sums of cut rows and columns, and the sums of row factors where these are
// complete. The vector is zero before.
template <class R, class Real>
__global__ void __launch_bounds__(kPassThreads)
    put_shard_factors(const __grid_constant__ ShardArguments shards) {
  __shared__ double shared[kPassWarps];
  const FactorShard<R, Real> own(shards);
  const FactorRecord& record = own.record;
  if (!own.updates()) {
    return;
  }
  if (record.cuts_rows) {
    own.for_each(own.rows(), [&](std::int64_t row) {
      shards.factors[record.row_place + own.row_in_whole(row)] =
          shards.part_factors[record.row_sums + row];
    });
  }
  if (record.cuts_columns) {
    own.for_each(own.columns(), [&](std::int64_t column) {
      shards.factors[record.column_place + own.column_in_whole(column)] =
          shards.part_factors[record.column_sums + column];
    });
  }
  if (record.cuts_columns && !record.cuts_rows) {
    for (std::int64_t matrix = blockIdx.y; matrix < own.tensor.matrices; matrix += gridDim.y) {
      const double sum = own.sum_of_row_factors(matrix, shared);
      if (threadIdx.x == 0) {
        shards.factors[record.mean_place + own.matrix_in_whole(matrix)] =
            own.share_of_columns() * sum;
      }
    }
  }
}

// Blends the factors of cut rows and of all columns.
template <class R, class Real>
__global__ void __launch_bounds__(kPassThreads)
    take_shard_factors(const __grid_constant__ ShardArguments shards) {
  const FactorShard<R, Real> own(shards);
  const FactorRecord& record = own.record;
  if (!own.updates()) {
    return;
  }
  if (record.cuts_rows) {
    own.for_each(own.rows(), [&](std::int64_t row) {
      const double sum = shards.factors[record.row_place + own.row_in_whole(row)];
      blend_factor<R>(shards.step, record.tensor, own.row_factors() + row,
                      sum / static_cast<double>(record.whole_columns));
    });
  }
  own.for_each(own.columns(), [&](std::int64_t column) {
    const double sum = record.cuts_columns
                           ? shards.factors[record.column_place + own.column_in_whole(column)]
                           : shards.part_factors[record.column_sums + column];
    blend_factor<R>(shards.step, record.tensor, own.column_factors() + column,
                    sum / static_cast<double>(record.whole_rows));
  });
}

// The row factors of a matrix are complete now. Where all of them are in this part, so is their
// mean; otherwise their sum comes from the vector, or goes into the late one.
template <class R, class Real>
__global__ void __launch_bounds__(kPassThreads)
    shard_factor_means(const __grid_constant__ ShardArguments shards) {
  __shared__ double shared[kPassWarps];
  const FactorShard<R, Real> own(shards);
  const FactorRecord& record = own.record;
  if (!own.updates()) {
    return;
  }
  auto* const means = static_cast<Real*>(own.tensor.matrix_means);
  const auto rows = static_cast<double>(record.whole_rows);
  for (std::int64_t matrix = blockIdx.y; matrix < own.tensor.matrices; matrix += gridDim.y) {
    const double sum = own.sum_of_row_factors(matrix, shared);
    if (threadIdx.x != 0) {
      continue;
    }
    if (!record.cuts_columns) {
      means[matrix] = static_cast<Real>(sum / rows);
    } else if (!record.cuts_rows) {
      const double total = shards.factors[record.mean_place + own.matrix_in_whole(matrix)];
      means[matrix] = static_cast<Real>(total / rows);
    } else {
      shards.late_means[record.late_mean_place + own.matrix_in_whole(matrix)] =
          own.share_of_columns() * sum;
    }
  }
}

template <class R, class Real>
__global__ void __launch_bounds__(kPassThreads)
    take_late_means(const __grid_constant__ ShardArguments shards) {
  const FactorShard<R, Real> own(shards);
  const FactorRecord& record = own.record;
  if (!own.updates() || !record.cuts_rows || !record.cuts_columns) {
    return;
  }
  own.for_each(own.tensor.matrices, [&](std::int64_t matrix) {
    const double total = shards.late_means[record.late_mean_place + own.matrix_in_whole(matrix)];
    static_cast<Real*>(own.tensor.matrix_means)[matrix] =
        static_cast<Real>(total / static_cast<double>(record.whole_rows));
  });
}

}  // namespace sing::cuda
