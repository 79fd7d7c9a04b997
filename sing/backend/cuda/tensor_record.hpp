// What the kernels know of one tensor: its cut into chunks and tiles.
#pragma once

#include "sing/backend/cuda/cuda_tuning.hpp"
#include "sing/backend/cuda/device_records.hpp"

namespace sing::cuda {

constexpr std::int64_t ceiling(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Everything but scratch. `index`: in the request.
TensorRecord make_record(const TensorStep& tensor, std::size_t index, const Tuning& tuning);

}  // namespace sing::cuda
