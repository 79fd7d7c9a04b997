// The rules' kernels for shards whose state is float32.
#include "sing/backend/cuda/kernel/shard_results.cuh"

namespace sing::cuda {

ShardKernels float_shard_kernels() { return make_shard_kernels<float>(); }

}  // namespace sing::cuda
