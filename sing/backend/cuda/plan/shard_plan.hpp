// The shards of a plan, and where their values are in the vectors that processes add up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sing/backend/cuda/kernel/shard_records.hpp"

namespace sing::cuda {

// A vector of values, those of one group of processes after those of another. All processes of a
// group have the same values in the same order.
struct ShardVector {
  struct Part {
    std::int32_t sum_group;
    std::size_t begin, count;
  };
  std::vector<Part> parts;  // in the order of the groups' numbers
  std::size_t size = 0;
};

struct ShardPlan {
  std::vector<ShardRecord> records;          // in the order of their tensors in the plan
  std::vector<FactorRecord> factor_records;  // likewise
  std::vector<std::int64_t> axes;            // ShardArguments::axes
  ShardVector rows, sums, rule_sums, factors, late_means;
  std::size_t part_factors = 0;  // sums of all parts' rows and columns

  bool empty() const { return records.empty(); }
};

// `order`: position in the plan → index in the request.
ShardPlan make_shard_plan(const StepRequest& request, const std::vector<std::size_t>& order);

}  // namespace sing::cuda
