// The stages of a step over shards: between two passes the processes add up what the first has
// found and the second needs.
#pragma once

#include <optional>
#include <span>

#include "sing/backend/cpu/tensor_update.hpp"
#include "sing/backend/shard_sums.hpp"

namespace sing::cpu {

// One tensor that is a shard.
struct ShardJob {
  TensorJob job;
  std::optional<TensorUpdate>* update;  // empty if the step leaves the tensor out
};

// After the measure pass: completes the row means, and adds to sums[i], the sums of job i's part,
// what the distance between row means of part and whole contributes. All shards of the request take
// part, with a gradient or without.
void complete_rows(std::span<const ShardJob> jobs, const SumShards& sum_shards, PackedSums& packed,
                   std::span<GradientSums> sums);

// After the factor pass: updates the factored moments.
void complete_factors(std::span<const ShardJob> jobs, const SumShards& sum_shards,
                      PackedSums& packed);

// After the sum pass: completes the constants of the updates.
void complete_sums(std::span<const ShardJob> jobs, const SumShards& sum_shards, PackedSums& packed);

}  // namespace sing::cpu
