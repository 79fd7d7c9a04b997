// Launches the kernels and the matrix products of a planned step.
#pragma once

#include <array>
#include <optional>

#include "sing/backend/cuda/kernel/shard_kernels.hpp"
#include "sing/backend/cuda/kernel/step_kernels.hpp"
#include "sing/backend/cuda/matrix/cublas.hpp"
#include "sing/backend/cuda/plan/device_tables.hpp"

namespace sing::cuda {

class StepLauncher {
 public:
  // `multiply`: the caller's matrix products, or empty for cuBLAS.
  StepLauncher(int device, Multiply multiply);

  // Must precede the first launch of a plan. Throws if the plan needs products and cuBLAS is not
  // found.
  void prepare(const WorkPlan& plan);

  // `sum_shards` may be null if the plan has no shards.
  void launch(const DeviceTables& tables, StepArguments arguments,
              const SumShardsOnDevice* sum_shards, cudaStream_t stream) const;

  // Device memory of cuBLAS.
  std::size_t bytes() const { return cublas_ ? cublas_->bytes() : 0; }

 private:
  void launch_kernel(const Launch& launch, StepArguments& arguments, cudaStream_t stream) const;
  void launch_shards(const Launch& launch, const DeviceTables& tables, ShardArguments arguments,
                     const SumShardsOnDevice& sum_shards, cudaStream_t stream) const;
  template <class Real>
  const void* orthogonalize(const MatrixLaunch& launch, std::byte* memory,
                            cudaStream_t stream) const;

  std::array<StepKernels, kStorageCount> kernels_;  // in the order of Storage
  ShardKernels float_shard_kernels_, double_shard_kernels_;
  int multiprocessors_ = 0;
  Multiply multiply_;
  std::optional<Cublas> cublas_;  // made when a plan first needs it
};

}  // namespace sing::cuda
