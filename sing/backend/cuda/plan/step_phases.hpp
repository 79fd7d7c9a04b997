// The work on the tensors of one kernel, as phases that each need the ones before them.
#pragma once

#include <optional>
#include <vector>

#include "sing/backend/cuda/kernel/device_records.hpp"
#include "sing/backend/cuda/plan/matrix_batches.hpp"
#include "sing/backend/cuda/step_tuning.hpp"

namespace sing::cuda {

// The tensors of a plan, by their positions in it.
struct PlanTensors {
  const StepRequest& request;
  const std::vector<TensorRecord>& records;
  const std::vector<std::size_t>& order;  // position → index in the request
};

// The tensors that one kernel serves: they have the same rule and storage types.
struct KernelTensors {
  std::size_t rule;
  std::vector<std::uint32_t> small;  // tensors that one item can measure and update
  std::vector<std::uint32_t> large;
  std::vector<MatrixBatch> matrices;  // their tensors are also in `small` or `large`
};

// A phase is the work of one launch; the launch boundary orders it after earlier phases.
struct Phase {
  bool by_blocks;  // items are for blocks (pass kernel), not for warps (step kernel)
  std::vector<WorkItem> items;
  std::optional<MatrixLaunch> matrices = {};  // instead of items
  bool measures_shards = false;               // items are for the kernel that measures shards
};

// `reading` phases write no parameter or state. Where measures_everything_first() holds, the
// reading phases of all kernels come before the first other phase, with the clipping in between.
// `summing` phases compute what rules need between measuring and applying, and come before the
// kernel's writing phases; with shards, before those of all kernels. Phases may be empty.
struct Phases {
  std::vector<Phase> reading, summing, writing;
};

Phases make_phases(const PlanTensors& plan, const KernelTensors& tensors, const StepTuning& tuning);

}  // namespace sing::cuda
