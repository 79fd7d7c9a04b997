// The rules' kernels for shards whose state is float64.
#include "sing/backend/cuda/kernel/shard_results.cuh"

namespace sing::cuda {

ShardKernels double_shard_kernels() { return make_shard_kernels<double>(); }

}  // namespace sing::cuda
