// Kernels for shards that do not depend on the rule.
#include "sing/backend/cuda/cuda_check.hpp"
#include "sing/backend/cuda/kernel/chunk_reduction.cuh"
#include "sing/backend/cuda/kernel/shard_kernels.hpp"

namespace sing::cuda {
namespace {

// Items are divided evenly among the warps, because none waits for another.
template <class Real, class G>
__global__ void __launch_bounds__(kStepThreads, kStepBlocksPerMultiprocessor)
    measure_shards(const __grid_constant__ ShardArguments shards) {
  const StepArguments& step = shards.step;
  const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * kStepWarps;
  const std::int64_t own = static_cast<std::int64_t>(blockIdx.x) * kStepWarps + threadIdx.x / 32;
  for (std::int64_t k = step.item_begin + own; k < step.item_end; k += warps) {
    const WorkItem item = step.items[k];
    const auto tensor = read_record<TensorChunks>(&step.tensors[item.tensor]);
    const GradientRecord gradient = read_record(&step.gradients[item.tensor]);
    if (gradient.data == nullptr) {
      continue;
    }
    const LaneSums found = measure_chunk<Real, G>(step, item, tensor, gradient);
    ChunkSums sums{warp_sum(found.squares), warp_sum(found.centred_squares), found.mean, 0};
    if (tensor.chunks > 1 && !complete_tensor<Real>(step, item.tensor, tensor, item.index, sums)) {
      continue;
    }
    if (lane_id() == 0) {
      shards.parts[item.tensor] = {.squares = sums.squares,
                                   .centred_squares = sums.centred_squares};
    }
    __syncwarp();
  }
}

__device__ __forceinline__ double row_mean(const TensorRecord& tensor, std::int64_t row) {
  return tensor.dtype == Dtype::kFloat64
             ? static_cast<const double*>(tensor.row_means)[row]
             : static_cast<double>(static_cast<const float*>(tensor.row_means)[row]);
}

__device__ __forceinline__ void set_row_mean(const TensorRecord& tensor, std::int64_t row,
                                             double mean) {
  if (tensor.dtype == Dtype::kFloat64) {
    static_cast<double*>(tensor.row_means)[row] = mean;
  } else {
    static_cast<float*>(tensor.row_means)[row] = static_cast<float>(mean);
  }
}

__device__ __forceinline__ bool has_cut_rows(const ShardArguments& shards,
                                             const ShardRecord& shard) {
  return shard.whole_row_length > 0 && shards.step.tensors[shard.tensor].size > 0 &&
         shards.step.gradients[shard.tensor].data != nullptr;
}

// Returns the number of elements of one row that are in the part.
__device__ __forceinline__ double part_of_row(const TensorRecord& tensor) {
  return static_cast<double>(tensor.outer * tensor.inner);
}

// The rows of a shard are divided among gridDim.y blocks; blockIdx.x numbers the shards.
__global__ void __launch_bounds__(kPassThreads)
    put_rows(const __grid_constant__ ShardArguments shards) {
  const ShardRecord& shard = shards.records[blockIdx.x];
  if (!has_cut_rows(shards, shard)) {
    return;
  }
  const TensorRecord& tensor = shards.step.tensors[shard.tensor];
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.y) * kPassThreads;
  for (std::int64_t row = blockIdx.y * kPassThreads + threadIdx.x; row < tensor.rows;
       row += stride) {
    shards.rows[shard.row_place + row] = part_of_row(tensor) * row_mean(tensor, row);
  }
}

// Launch shape: one block per shard, which adds up the rows' terms in a fixed order.
__global__ void __launch_bounds__(kPassThreads)
    take_rows(const __grid_constant__ ShardArguments shards) {
  __shared__ double shared[kPassWarps];
  const ShardRecord& shard = shards.records[blockIdx.x];
  if (!has_cut_rows(shards, shard)) {
    return;
  }
  const TensorRecord& tensor = shards.step.tensors[shard.tensor];
  double added[1] = {0};
  for (std::int64_t row = threadIdx.x; row < tensor.rows; row += kPassThreads) {
    const double mean =
        shards.rows[shard.row_place + row] / static_cast<double>(shard.whole_row_length);
    const double distance = row_mean(tensor, row) - mean;
    added[0] += part_of_row(tensor) * distance * distance;
    set_row_mean(tensor, row, mean);
  }
  block_sum(added, shared);
  if (threadIdx.x == 0) {
    shards.parts[shard.tensor].centred_squares += added[0];
  }
}

// Launch shape: one thread per shard.
__global__ void __launch_bounds__(kPassThreads)
    put_sums(const __grid_constant__ ShardArguments shards) {
  const std::int64_t at = std::int64_t{blockIdx.x} * kPassThreads + threadIdx.x;
  if (at >= shards.end) {
    return;
  }
  const ShardRecord& shard = shards.records[at];
  const bool has_gradient = shards.step.gradients[shard.tensor].data != nullptr;
  const GradientSums part = has_gradient ? shards.parts[shard.tensor] : GradientSums{};
  double* const values = shards.sums + shard.sum_place;
  values[0] = part.squares;
  values[1] = part.centred_squares;
  values[2] = has_gradient ? 1 : 0;
  values[3] = 1;
}

// Launch shape: one block per shard. A part that this step leaves out adds zeros.
__global__ void __launch_bounds__(kPassThreads)
    put_rule_sums(const __grid_constant__ ShardArguments shards) {
  __shared__ double shared[kPassWarps];
  const StepArguments& step = shards.step;
  const ShardRecord& shard = shards.records[blockIdx.x];
  const TensorRecord& tensor = step.tensors[shard.tensor];
  const bool updates = step.gradients[shard.tensor].data != nullptr &&
                       load_result(&step.results[shard.tensor]).updates != 0;
  const auto* partials = reinterpret_cast<const double*>(step.partials + tensor.first_partial);
  for (std::int64_t k = 0; k < shard.rule_sum_count; ++k) {
    double sum[1] = {0};
    for (std::int64_t chunk = threadIdx.x; updates && chunk < tensor.chunks;
         chunk += kPassThreads) {
      sum[0] += partials[chunk * 4 + k];
    }
    block_sum(sum, shared);
    if (threadIdx.x == 0) {
      shards.rule_sums[shard.rule_sum_place + k] = sum[0];
    }
  }
}

unsigned int blocks_for(std::int64_t threads) {
  return static_cast<unsigned int>((threads + kPassThreads - 1) / kPassThreads);
}

}  // namespace

const void* measure_shards_kernel(Storage storage) {
  switch (storage) {
    case Storage::kDouble:
      return reinterpret_cast<const void*>(&measure_shards<double, double>);
    case Storage::kFullNarrow:
    case Storage::kNarrow:
      return reinterpret_cast<const void*>(&measure_shards<float, Bits16>);
    default:
      return reinterpret_cast<const void*>(&measure_shards<float, float>);
  }
}

void put_shard_rows(const ShardArguments& shards, cudaStream_t stream) {
  put_rows<<<dim3(static_cast<unsigned int>(shards.end), 8), kPassThreads, 0, stream>>>(shards);
  check(cudaGetLastError(), "to launch the sums of rows");
}

void take_shard_rows(const ShardArguments& shards, cudaStream_t stream) {
  take_rows<<<static_cast<unsigned int>(shards.end), kPassThreads, 0, stream>>>(shards);
  check(cudaGetLastError(), "to launch the means of rows");
}

void put_shard_sums(const ShardArguments& shards, cudaStream_t stream) {
  put_sums<<<blocks_for(shards.end), kPassThreads, 0, stream>>>(shards);
  check(cudaGetLastError(), "to launch the sums of shards");
}

void put_shard_rule_sums(const ShardArguments& shards, cudaStream_t stream) {
  put_rule_sums<<<static_cast<unsigned int>(shards.end), kPassThreads, 0, stream>>>(shards);
  check(cudaGetLastError(), "to launch the rules' sums of shards");
}

}  // namespace sing::cuda
