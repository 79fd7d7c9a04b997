// Gives the values of shards their places.
#include "sing/backend/cuda/plan/shard_plan.hpp"

#include <map>

#include "sing/backend/cuda/plan/rule_passes.hpp"

namespace sing::cuda {
namespace {

// Collects the values of one vector, group by group.
class VectorMaker {
 public:
  // `place` is where the values begin in their group until finish() moves the group.
  void add(std::int32_t sum_group, std::int64_t count, std::int64_t& place) {
    Group& group = groups_[sum_group];
    place = group.count;
    group.count += count;
    group.places.push_back(&place);
  }

  ShardVector finish() {
    ShardVector vector;
    for (auto& [number, group] : groups_) {
      for (std::int64_t* const place : group.places) {
        *place += static_cast<std::int64_t>(vector.size);
      }
      const auto count = static_cast<std::size_t>(group.count);
      vector.parts.push_back({number, vector.size, count});
      vector.size += count;
    }
    return vector;
  }

 private:
  struct Group {
    std::int64_t count = 0;
    std::vector<std::int64_t*> places;
  };
  std::map<std::int32_t, Group> groups_;
};

std::int64_t rule_sum_count(const Rule& rule) {
  return std::visit([]<class R>(const R&) { return static_cast<std::int64_t>(kSumCount<R>); },
                    rule);
}

void add_axes(const Region& region, std::vector<std::int64_t>& axes) {
  for (std::size_t axis = 0; axis < region.part.size(); ++axis) {
    axes.insert(axes.end(), {region.part[axis], region.whole[axis], region.offset[axis]});
  }
}

// A record without the places in vectors.
FactorRecord make_factor_record(const TensorStep& tensor, std::size_t position, ShardPlan& plan) {
  const ShardLayout& shard = *tensor.shard;
  const auto rows = static_cast<std::size_t>(tensor.layout.matrix_row_count());
  const auto columns = static_cast<std::size_t>(tensor.layout.matrix_column_count());
  FactorRecord record{};
  record.tensor = static_cast<std::int64_t>(position);
  record.rank = tensor.layout.rank;
  record.axes = static_cast<std::int64_t>(plan.axes.size());
  record.whole_rows = shard.whole.matrix_rows;
  record.whole_columns = shard.whole.columns;
  record.row_sums = static_cast<std::int64_t>(plan.part_factors);
  record.column_sums = static_cast<std::int64_t>(plan.part_factors + rows);
  record.cuts_rows = shard.cuts_matrix_rows;
  record.cuts_columns = shard.cuts_matrix_columns;
  plan.part_factors += rows + columns;
  for (const Region* region : {&shard.matrix_rows, &shard.matrix_columns, &shard.matrices}) {
    add_axes(*region, plan.axes);
  }
  return record;
}

}  // namespace

ShardPlan make_shard_plan(const StepRequest& request, const std::vector<std::size_t>& order) {
  ShardPlan plan;
  std::vector<FactorRecord*> factored(request.tensors.size());
  plan.factor_records.reserve(order.size());
  std::vector<ShardRecord*> by_index(request.tensors.size());
  plan.records.reserve(order.size());
  for (std::size_t position = 0; position < order.size(); ++position) {
    const TensorStep& tensor = request.tensors[order[position]];
    if (tensor.shard != nullptr) {
      ShardRecord& record = plan.records.emplace_back();
      record.tensor = static_cast<std::int64_t>(position);
      record.whole_size = tensor.whole_size();
      by_index[order[position]] = &record;
      if (passes_of(request.groups[tensor.group].rule.index()).factored &&
          tensor.layout.factored()) {
        plan.factor_records.push_back(make_factor_record(tensor, position, plan));
        factored[order[position]] = &plan.factor_records.back();
      }
    }
  }
  // In the order of the request, which all processes have in common.
  VectorMaker rows, sums, rule_sums, factors, late_means;
  for (std::size_t index = 0; index < by_index.size(); ++index) {
    if (by_index[index] == nullptr) {
      continue;
    }
    ShardRecord& record = *by_index[index];
    const TensorStep& tensor = request.tensors[index];
    const GroupStep& group = request.groups[tensor.group];
    const ShardLayout& shard = *tensor.shard;
    sums.add(shard.sum_group, kShardSums, record.sum_place);
    if (shard.cuts_rows && group.standardize.centralizes(tensor.layout.rank)) {
      record.whole_row_length = shard.whole.row_length();
      rows.add(shard.sum_group, shard.rows.whole_size(), record.row_place);
      record.row_place += shard.rows.offset[0];
    }
    record.rule_sum_count = rule_sum_count(group.rule);
    if (record.rule_sum_count > 0) {
      rule_sums.add(shard.sum_group, record.rule_sum_count, record.rule_sum_place);
    }
    if (factored[index] == nullptr) {
      continue;
    }
    FactorRecord& factor = *factored[index];
    if (factor.cuts_rows) {
      factors.add(shard.sum_group, shard.matrix_rows.whole_size(), factor.row_place);
    }
    if (factor.cuts_columns) {
      factors.add(shard.sum_group, shard.matrix_columns.whole_size(), factor.column_place);
      (factor.cuts_rows ? late_means : factors)
          .add(shard.sum_group, shard.matrices.whole_size(),
               factor.cuts_rows ? factor.late_mean_place : factor.mean_place);
    }
  }
  plan.rows = rows.finish();
  plan.sums = sums.finish();
  plan.rule_sums = rule_sums.finish();
  plan.factors = factors.finish();
  plan.late_means = late_means.finish();
  return plan;
}

}  // namespace sing::cuda
