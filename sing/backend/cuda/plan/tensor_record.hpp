// What the kernels know of one tensor: its cut into chunks and tiles.
#pragma once

#include <vector>

#include "sing/backend/cuda/cuda_tuning.hpp"
#include "sing/backend/cuda/kernel/device_records.hpp"

namespace sing::cuda {

constexpr std::int64_t ceiling(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Everything but scratch. `index`: in the request.
TensorRecord make_record(const TensorStep& tensor, const GroupStep& group, std::size_t index,
                         const Tuning& tuning);

// The tiles of the tensor at place `at` of the plan; `left`: elements of it and of those that come
// after it. An empty tensor has one, which advances its counters. `singly`: read element by
// element.
std::vector<WorkItem> cut_tiles(const TensorRecord& record, std::uint32_t at, bool singly,
                                std::int64_t left, const Tuning& tuning);

}  // namespace sing::cuda
