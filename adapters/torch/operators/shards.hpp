// Shards as Python gives them, and Python's functions that add up their sums and exchange parts.
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

// Does the same for values on a CUDA device, as SumShardsOnDevice.
using SumOnDeviceFunction = int (*)(double* values, std::size_t count, std::int32_t sum_group,
                                    void* stream);

SumShardsOnDevice sum_on_device_by(std::int64_t address);

// Exchanges messages as ExchangeParts, for `processes` processes. Returns 0 if it has done so.
using ExchangeFunction = int (*)(const void* sent, const std::size_t* sent_bytes, void* received,
                                 const std::size_t* received_bytes, std::size_t processes,
                                 std::int32_t sum_group);

// Returns a wrapper of the function at this address; an empty one for the address 0.
ExchangeParts exchange_by(std::int64_t address);

// A JSON list with null for a whole tensor and {"whole_shape", "offset", "cut_axes", "sum_group"}
// for a shard, which may have "own_part" and "parts", a list of offsets and shapes. Throws
// std::invalid_argument for other text.
std::vector<std::optional<Shard>> shards_of(const std::string& json);

}  // namespace sing::operators
