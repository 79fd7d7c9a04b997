// Gives tensors their positions and scratch memory, and turns their phases into launches.
#include "sing/backend/cuda/plan/work_plan.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "sing/backend/cuda/plan/rule_passes.hpp"
#include "sing/backend/cuda/plan/tensor_record.hpp"

namespace sing::cuda {
namespace {

// The work of one kernel.
struct KernelWork {
  std::size_t rule;
  Storage storage;
  std::int64_t first, count;  // positions of its tensors
  Phases phases = {};
  bool is_prepared = false;  // whether a launch prepares its tensors already
};

class Planner {
 public:
  Planner(const StepRequest& request, const StepTuning& tuning)
      : request_(request), tuning_(tuning) {}

  WorkPlan run() {
    std::map<std::pair<std::size_t, Storage>, std::vector<std::size_t>> members;
    for (std::size_t i = 0; i < request_.tensors.size(); ++i) {
      const TensorStep& tensor = request_.tensors[i];
      members[{request_.groups[tensor.group].rule.index(),
               storage_of(tensor.dtype, tensor.gradient_dtype)}]
          .push_back(i);
    }
    std::vector<KernelWork> all;
    for (const auto& [key, indices] : members) {
      all.push_back({.rule = key.first,
                     .storage = key.second,
                     .first = static_cast<std::int64_t>(plan_.tensors.size()),
                     .count = static_cast<std::int64_t>(indices.size())});
      const KernelTensors tensors = add_tensors(key.first, key.second, indices);
      all.back().phases = make_phases({request_, plan_.tensors, plan_.order}, tensors, tuning_);
    }
    if (has_shards(request_)) {
      plan_.shards = make_shard_plan(request_, plan_.order);
    }
    const bool everything_first = measures_everything_first(request_);
    for (KernelWork& work : all) {
      add_launches(work, work.phases.reading);
      if (!everything_first) {
        add_launches(work, work.phases.summing);
        add_launches(work, work.phases.writing);
      }
    }
    if (!plan_.shards.empty()) {
      add_sum(ShardStage::kRows, plan_.shards.rows);
      add_sum(ShardStage::kSums, plan_.shards.sums);
      add_results(ShardStage::kResults, all, plan_.shards.records);
    }
    const std::size_t measured = plan_.launches.size();
    if (!plan_.shards.empty()) {
      add_factors(all);
      for (KernelWork& work : all) {
        add_launches(work, work.phases.summing);
        work.phases.summing.clear();
      }
      add_sum(ShardStage::kRuleSums, plan_.shards.rule_sums);
      add_results(ShardStage::kRuleResults, all, plan_.shards.records);
    }
    for (KernelWork& work : all) {
      if (everything_first) {
        add_launches(work, work.phases.summing);
        add_launches(work, work.phases.writing);
      }
    }
    if (clips(request_) && plan_.launches.size() > measured) {
      Launch clip = without_items();
      clip.clips = true;
      plan_.launches.insert(plan_.launches.begin() + static_cast<std::ptrdiff_t>(measured), clip);
    }
    if (plan_.launches.empty()) {
      plan_.launches.push_back(without_items());  // a step without work still counts
    }
    return std::move(plan_);
  }

 private:
  static Launch without_items() {
    return {.rule = 0,
            .storage = Storage::kFull,
            .by_blocks = false,
            .begin = 0,
            .end = 0,
            .first_prepared = 0,
            .prepared_count = 0,
            .matrices = {}};
  }

  KernelTensors add_tensors(std::size_t rule, Storage storage,
                            const std::vector<std::size_t>& indices) {
    KernelTensors tensors{.rule = rule, .small = {}, .large = {}, .matrices = {}};
    const std::size_t element_bytes = storage == Storage::kDouble ? 8 : 4;
    MatrixBatcher matrices(tensors.matrices, element_bytes,
                           static_cast<std::size_t>(tuning_.matrix_bytes));
    const bool factored = passes_of(rule).factored;
    for (const std::size_t index : indices) {
      const TensorStep& tensor = request_.tensors[index];
      TensorRecord record = make_record(tensor, request_.groups[tensor.group], index, tuning_);
      reserve_scratch(record, element_bytes, factored);
      const auto position = static_cast<std::uint32_t>(plan_.tensors.size());
      if (const auto polynomial = newton_schulz_of(request_, tensor)) {
        record.matrix_begin = matrices.add(position, record, *polynomial);
      }
      plan_.tensors.push_back(record);
      plan_.order.push_back(index);
      const bool is_small = record.chunks == 1 && record.size <= tuning_.small_elements;
      (is_small ? tensors.small : tensors.large).push_back(position);
    }
    plan_.matrix_bytes = std::max(plan_.matrix_bytes, matrices.bytes());
    return tensors;
  }

  void reserve_scratch(TensorRecord& record, std::size_t element_bytes, bool factored) {
    const auto reserve = [&](bool wanted, std::int64_t count) {
      const std::size_t offset = plan_.mean_bytes;
      if (wanted) {
        plan_.mean_bytes += (static_cast<std::size_t>(count) * element_bytes + 15) / 16 * 16;
      }
      return std::bit_cast<void*>(wanted ? offset : kNoOffset);
    };
    record.row_means = reserve(record.rank >= 2, record.rows);
    record.matrix_means = reserve(factored && record.rank >= 2, record.matrices);
    record.first_partial = plan_.partial_count;
    plan_.partial_count += record.chunks;
    record.first_family = plan_.family_count;
    plan_.family_count += ceiling(record.chunks, kFamilyChunks);
  }

  void add_sum(ShardStage stage, const ShardVector& vector) {
    if (vector.size > 0) {
      Launch launch = without_items();
      launch.shards = stage;
      plan_.launches.push_back(launch);
    }
  }

  void add_factors(const std::vector<KernelWork>& all) {
    const std::vector<FactorRecord>& records = plan_.shards.factor_records;
    add_results(ShardStage::kFactorSums, all, records);
    add_results(ShardStage::kPutFactors, all, records);
    add_sum(ShardStage::kFactors, plan_.shards.factors);
    add_results(ShardStage::kTakeFactors, all, records);
    add_results(ShardStage::kFactorMeans, all, records);
    add_sum(ShardStage::kLateMeans, plan_.shards.late_means);
    if (plan_.shards.late_means.size > 0) {
      add_results(ShardStage::kTakeLateMeans, all, records);
    }
  }

  // One launch per kernel that has such records; for a rule's own sums, only if it has them.
  template <class Record>
  void add_results(ShardStage stage, const std::vector<KernelWork>& all,
                   const std::vector<Record>& records) {
    std::int64_t begin = 0;
    for (const KernelWork& work : all) {
      std::int64_t end = begin;
      const auto count = static_cast<std::int64_t>(records.size());
      while (end < count &&
             records[static_cast<std::size_t>(end)].tensor < work.first + work.count) {
        ++end;
      }
      if (end > begin && (stage != ShardStage::kRuleResults || passes_of(work.rule).sums)) {
        Launch launch = without_items();
        launch.rule = work.rule;
        launch.storage = work.storage;
        launch.begin = begin;
        launch.end = end;
        launch.shards = stage;
        plan_.launches.push_back(launch);
      }
      begin = end;
    }
  }

  // The first launch for warps prepares the kernel's tensors.
  void add_launches(KernelWork& work, const std::vector<Phase>& phases) {
    for (const Phase& phase : phases) {
      if (phase.items.empty() && !phase.matrices) {
        continue;
      }
      const bool prepares =
          !phase.by_blocks && !phase.matrices && !phase.measures_shards && !work.is_prepared;
      work.is_prepared = work.is_prepared || prepares;
      const auto begin = static_cast<std::int64_t>(plan_.items.size());
      plan_.items.insert(plan_.items.end(), phase.items.begin(), phase.items.end());
      plan_.launches.push_back({.rule = work.rule,
                                .storage = work.storage,
                                .by_blocks = phase.by_blocks,
                                .begin = begin,
                                .end = static_cast<std::int64_t>(plan_.items.size()),
                                .first_prepared = work.first,
                                .prepared_count = prepares ? work.count : 0,
                                .matrices = phase.matrices});
      if (phase.measures_shards) {
        plan_.launches.back().shards = ShardStage::kMeasure;
      }
    }
  }

  const StepRequest& request_;
  const StepTuning& tuning_;
  WorkPlan plan_;
};

}  // namespace

WorkPlan make_work_plan(const StepRequest& request, const StepTuning& tuning) {
  return Planner(request, tuning).run();
}

}  // namespace sing::cuda
