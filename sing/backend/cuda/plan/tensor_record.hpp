// Describes one tensor to the kernels and cuts it into chunks and tiles.
#pragma once

#include <vector>

#include "sing/backend/cuda/kernel/device_records.hpp"
#include "sing/backend/cuda/step_tuning.hpp"

namespace sing::cuda {

// ⌈a / b⌉ for positive numbers.
constexpr std::int64_t ceiling(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// All fields but those that refer to scratch memory. `index` is the tensor's in the request.
TensorRecord make_record(const TensorStep& tensor, const GroupStep& group, std::size_t index,
                         const StepTuning& tuning);

// The tiles of a tensor. `left` counts its elements and those of the tensors after it. Tiles are
// shorter where an update reads element by element. An empty tensor has one tile, which advances
// its counters.
std::vector<WorkItem> cut_tiles(const TensorRecord& record, std::uint32_t position, bool by_element,
                                std::int64_t left, const StepTuning& tuning);

}  // namespace sing::cuda
