// The kernels between the passes over shards: they write what the processes add up, and read the
// sums.
#pragma once

#include <cuda_runtime_api.h>

#include "sing/backend/cuda/kernel/shard_records.hpp"
#include "sing/backend/cuda/kernel/step_kernels.hpp"

namespace sing::cuda {

// Measures the items of a launch, which are chunks of shards of one pair of storage types, and
// writes ShardArguments::parts. It has the launch shape of a step kernel.
const void* measure_shards_kernel(Storage storage);

// Writes the sums of the part's rows, where rows are cut. The vector is zero before.
void put_shard_rows(const ShardArguments& shards, cudaStream_t stream);
// Replaces the means of cut rows by those of the whole rows, and adds to the part's centered
// squares what that changes.
void take_shard_rows(const ShardArguments& shards, cudaStream_t stream);
// Writes the gradient sums.
void put_shard_sums(const ShardArguments& shards, cudaStream_t stream);
// Writes the rules' own sums, from the partial sums of the pass that has computed them.
void put_shard_rule_sums(const ShardArguments& shards, cudaStream_t stream);

// The kernels that depend on the rule; their arguments are ShardArguments.
struct ShardKernels {
  // One thread per shard in blocks of kPassThreads.
  KernelOfRules results;    // publish what the apply pass waits for, from the gradient sums
  KernelOfRules rule_sums;  // complete the constants from the rules' own sums; null without them
  // For rules with factored moments, else null: kFactorBlocks blocks per factored shard.
  KernelOfRules factor_sums;   // sums of the part's rows and columns
  KernelOfRules put_factors;   // writes what is added up
  KernelOfRules take_factors;  // blends the factors
  KernelOfRules factor_means;  // means of row factors, or what they take from other parts
  KernelOfRules late_means;    // means of row factors that are added up late
};

inline constexpr unsigned int kFactorBlocks = 64;

ShardKernels float_shard_kernels();
ShardKernels double_shard_kernels();

}  // namespace sing::cuda
