// Shards as Python gives them, and Python's function that adds up their sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sing/backend/backend.hpp"
#include "sing/base/shard.hpp"

namespace sing::operators {

// Replaces the values by their sums over the processes of the group, as SumShards. Returns 0 if it
// has done so.
using SumFunction = int (*)(double* values, std::size_t count, std::int32_t sum_group);

// Returns a wrapper of the function at this address; an empty one for the address 0.
SumShards sum_by(std::int64_t address);

// A JSON list with null for a whole tensor and {"whole_shape", "offset", "cut_axes", "sum_group"}
// for a shard. Throws std::invalid_argument for other text.
std::vector<std::optional<Shard>> shards_of(const std::string& json);

}  // namespace sing::operators
