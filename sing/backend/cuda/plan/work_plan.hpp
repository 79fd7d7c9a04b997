// The work plan of a step: tensors cut into items, items put in order, the order cut into launches.
// Made once for a list of tensors; no device needed.
#pragma once

#include <vector>

#include "sing/backend/cuda/cuda_tuning.hpp"
#include "sing/backend/cuda/kernel/device_records.hpp"
#include "sing/backend/cuda/kernel/step_kernels.hpp"
#include "sing/backend/cuda/plan/step_phases.hpp"

namespace sing::cuda {

// Items [begin, end) by the kernel of one rule and storage.
struct Launch {
  std::size_t rule;
  Storage storage;
  bool by_blocks;  // items for blocks, not for warps
  std::int64_t begin, end;
  std::int64_t first_begun, begun_count;  // tensors that nothing was done for before
  std::optional<MatrixLaunch> matrices;   // no items
};

struct WorkPlan {
  std::vector<std::size_t> order;     // place in the plan → index in the request
  std::vector<TensorRecord> tensors;  // in plan order; scratch pointers hold byte offsets
  std::vector<WorkItem> items;
  std::vector<Launch> launches;
  std::int64_t partial_count = 0;
  std::int64_t family_count = 0;
  std::size_t mean_bytes = 0;    // row and matrix means of all tensors
  std::size_t matrix_bytes = 0;  // to make the matrices of one launch orthogonal
};

WorkPlan make_work_plan(const StepRequest& request, const Tuning& tuning);

}  // namespace sing::cuda
