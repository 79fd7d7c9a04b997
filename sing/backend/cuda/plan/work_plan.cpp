// Gives tensors their places and scratch memory, and launches their phases.
#include "sing/backend/cuda/plan/work_plan.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <tuple>

#include "sing/backend/cuda/plan/rule_passes.hpp"
#include "sing/backend/cuda/plan/tensor_record.hpp"
#include "sing/backend/newton_schulz.hpp"
#include "sing/base/message.hpp"

namespace sing::cuda {
namespace {

// A mean that does not exist; offsets of those that do are turned into pointers by the tables.
constexpr std::size_t kNoOffset = static_cast<std::size_t>(-1);

// What one kernel launches.
struct Planned {
  std::size_t rule;
  Storage storage;
  std::int64_t first, count;  // places of its tensors
  Phases phases = {};
  bool begun = false;
};

// Finds matrices that can be made orthogonal together: of one shape and polynomial, as many as
// there is memory for.
class MatrixSorter {
 public:
  MatrixSorter(std::vector<AlikeMatrices>& into, std::size_t element_bytes, const Tuning& tuning)
      : into_(into),
        element_bytes_(element_bytes),
        most_bytes_(static_cast<std::size_t>(tuning.matrix_bytes)) {}

  // Gives where the tensor's matrix begins among those it joins.
  std::int64_t add(std::uint32_t at, const TensorRecord& record, const NewtonSchulz& polynomial) {
    const Matrices one{.rows = record.leading, .columns = record.size / record.leading};
    SING_CHECK(std::max(one.rows, one.columns) <= std::numeric_limits<int>::max(),
               "[cuda step] wanted matrices with sides below 2^31, got one of {} by {}", one.rows,
               one.columns);
    const auto [found, is_new] = latest_.try_emplace({one.rows, one.columns, polynomial});
    if (is_new || !has_room(into_[found->second].launch.shape)) {
      found->second = into_.size();
      into_.push_back({.launch = {.polynomial = polynomial, .shape = one}, .places = {at}});
      return 0;
    }
    AlikeMatrices& alike = into_[found->second];
    alike.places.push_back(at);
    alike.launch.shape.count = static_cast<std::int64_t>(alike.places.size());
    return alike.launch.shape.elements() - one.elements();
  }

  // What the largest launch needs.
  std::size_t bytes() const {
    std::size_t most = 0;
    for (const AlikeMatrices& alike : into_) {
      most = std::max(most, bytes_of(alike.launch.shape));
    }
    return most;
  }

 private:
  std::size_t bytes_of(const Matrices& shape) const {
    return (static_cast<std::size_t>(shape.elements()) + newton_schulz_scratch(shape)) *
           element_bytes_;
  }

  bool has_room(Matrices shape) const {
    ++shape.count;
    return bytes_of(shape) <= most_bytes_;
  }

  std::vector<AlikeMatrices>& into_;
  std::size_t element_bytes_, most_bytes_;
  // The last of each kind.
  std::map<std::tuple<std::int64_t, std::int64_t, NewtonSchulz>, std::size_t> latest_;
};

class Planner {
 public:
  Planner(const StepRequest& request, const Tuning& tuning) : request_(request), tuning_(tuning) {}

  WorkPlan run() {
    std::map<std::pair<std::size_t, Storage>, std::vector<std::size_t>> members;
    for (std::size_t i = 0; i < request_.tensors.size(); ++i) {
      const TensorStep& tensor = request_.tensors[i];
      members[{request_.groups[tensor.group].rule.index(),
               storage_of(tensor.dtype, tensor.gradient_dtype)}]
          .push_back(i);
    }
    std::vector<Planned> all;
    for (const auto& [key, indices] : members) {
      all.push_back({.rule = key.first,
                     .storage = key.second,
                     .first = static_cast<std::int64_t>(plan_.tensors.size()),
                     .count = static_cast<std::int64_t>(indices.size())});
      const Batch batch = place(key.first, key.second, indices);
      all.back().phases = make_phases({request_, plan_.tensors, plan_.order}, batch, tuning_);
    }
    const bool everything_first = measures_everything_first(request_);
    for (Planned& planned : all) {
      launch(planned, planned.phases.reading);
      if (!everything_first) {
        launch(planned, planned.phases.writing);
      }
    }
    for (Planned& planned : all) {
      if (everything_first) {
        launch(planned, planned.phases.writing);
      }
    }
    if (plan_.launches.empty()) {
      plan_.launches.push_back({.rule = 0,
                                .storage = Storage::kFull,
                                .by_blocks = false,
                                .begin = 0,
                                .end = 0,
                                .first_begun = 0,
                                .begun_count = 0,
                                .matrices = {}});
    }
    return std::move(plan_);
  }

 private:
  Batch place(std::size_t rule, Storage storage, const std::vector<std::size_t>& indices) {
    Batch batch{.rule = rule, .whole = {}, .large = {}, .matrices = {}};
    MatrixSorter matrices(batch.matrices, storage == Storage::kDouble ? 8 : 4, tuning_);
    const bool factored = passes_of(rule).factored;
    for (const std::size_t index : indices) {
      const TensorStep& tensor = request_.tensors[index];
      TensorRecord record = make_record(tensor, request_.groups[tensor.group], index, tuning_);
      reserve_scratch(record, storage == Storage::kDouble, factored);
      const auto at = static_cast<std::uint32_t>(plan_.tensors.size());
      if (const auto polynomial = newton_schulz_of(request_, tensor)) {
        record.matrix_begin = matrices.add(at, record, *polynomial);
      }
      plan_.tensors.push_back(record);
      plan_.order.push_back(index);
      const bool whole = record.chunks == 1 && record.size <= tuning_.whole_elements;
      (whole ? batch.whole : batch.large).push_back(at);
    }
    plan_.matrix_bytes = std::max(plan_.matrix_bytes, matrices.bytes());
    return batch;
  }

  void reserve_scratch(TensorRecord& record, bool is_double, bool factored) {
    const std::size_t bytes = is_double ? 8 : 4;
    const auto reserve = [&](bool wanted, std::int64_t count) {
      const std::size_t offset = plan_.mean_bytes;
      if (wanted) {
        plan_.mean_bytes += (static_cast<std::size_t>(count) * bytes + 15) / 16 * 16;
      }
      return std::bit_cast<void*>(wanted ? offset : kNoOffset);
    };
    record.row_means = reserve(record.rank >= 2, record.rows);
    record.matrix_means = reserve(factored && record.rank >= 2, record.matrices);
    record.first_partial = plan_.partial_count;
    plan_.partial_count += record.chunks;
    record.first_family = plan_.family_count;
    plan_.family_count += ceiling(record.chunks, kFamily);
  }

  // The first launch for warps begins the tensors.
  void launch(Planned& planned, const std::vector<Phase>& phases) {
    for (const Phase& phase : phases) {
      if (phase.items.empty() && !phase.matrices) {
        continue;
      }
      const bool begins = !phase.by_blocks && !phase.matrices && !planned.begun;
      planned.begun = planned.begun || begins;
      const auto begin = static_cast<std::int64_t>(plan_.items.size());
      plan_.items.insert(plan_.items.end(), phase.items.begin(), phase.items.end());
      plan_.launches.push_back({.rule = planned.rule,
                                .storage = planned.storage,
                                .by_blocks = phase.by_blocks,
                                .begin = begin,
                                .end = static_cast<std::int64_t>(plan_.items.size()),
                                .first_begun = planned.first,
                                .begun_count = begins ? planned.count : 0,
                                .matrices = phase.matrices});
    }
  }

  const StepRequest& request_;
  const Tuning& tuning_;
  WorkPlan plan_;
};

}  // namespace

WorkPlan make_work_plan(const StepRequest& request, const Tuning& tuning) {
  return Planner(request, tuning).run();
}

}  // namespace sing::cuda
