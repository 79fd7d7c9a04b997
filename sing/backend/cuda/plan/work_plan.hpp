// The work plan of a step: tensors are cut into items, items are put in order, and the order is cut
// into launches. A plan is made once per list of tensors and needs no device.
#pragma once

#include <vector>

#include "sing/backend/cuda/kernel/device_records.hpp"
#include "sing/backend/cuda/kernel/step_kernels.hpp"
#include "sing/backend/cuda/plan/shard_plan.hpp"
#include "sing/backend/cuda/plan/step_phases.hpp"

namespace sing::cuda {

// The launches that only shards need. Between two of them the processes add up a vector.
enum class ShardStage {
  kMeasure,     // takes items, as a step kernel does
  kRows,        // completes the means of cut rows
  kSums,        // adds up the gradient sums
  kResults,     // begin and end are shards of one rule
  kFactorSums,  // the stages of factored moments; begin and end are factored shards of one rule
  kPutFactors,
  kFactors,  // adds up what has been put
  kTakeFactors,
  kFactorMeans,
  kLateMeans,  // adds up means that are known late
  kTakeLateMeans,
  kRuleSums,     // adds up the rules' own sums
  kRuleResults,  // begin and end are shards of one rule
};

// One launch of the kernel for a rule and its storage types, which takes items [begin, end); or the
// matrix products of a batch; or the clipping of all tensors; or a stage of shards.
struct Launch {
  std::size_t rule;
  Storage storage;
  bool by_blocks;  // items are for blocks (pass kernel), not for warps (step kernel)
  std::int64_t begin, end;
  std::int64_t first_prepared, prepared_count;  // tensors whose constants the launch prepares
  std::optional<MatrixLaunch> matrices;         // instead of items
  bool clips = false;                           // instead of items
  std::optional<ShardStage> shards = {};        // instead of the kernel
};

struct WorkPlan {
  std::vector<std::size_t> order;     // position in the plan → index in the request
  std::vector<TensorRecord> tensors;  // by position; scratch pointers hold byte offsets
  std::vector<WorkItem> items;
  std::vector<Launch> launches;
  std::int64_t partial_count = 0;
  std::int64_t family_count = 0;
  std::size_t mean_bytes = 0;    // row and matrix means of all tensors
  std::size_t matrix_bytes = 0;  // for the largest batch of matrices
  ShardPlan shards;
};

// The offset of an array that does not exist, in place of a scratch pointer.
inline constexpr std::size_t kNoOffset = static_cast<std::size_t>(-1);

WorkPlan make_work_plan(const StepRequest& request, const StepTuning& tuning);

}  // namespace sing::cuda
