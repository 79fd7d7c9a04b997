// Cuts, orders and launches: see work_plan.hpp.
#include "sing/backend/cuda/work_plan.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "sing/backend/cuda/queue_order.hpp"
#include "sing/backend/cuda/tensor_record.hpp"
#include "sing/backend/newton_schulz.hpp"

namespace sing::cuda {
namespace {

// A mean that does not exist; offsets of those that do are turned into pointers by the tables.
constexpr std::size_t kNoOffset = static_cast<std::size_t>(-1);

// What a rule needs between measure and apply.
struct RulePasses {
  bool factored, sums;
  bool singly;  // its update reads element by element
  bool more() const { return factored || sums; }
};

RulePasses passes_of(std::size_t rule) {
  RulePasses passes{};
  std::size_t index = 0;
  for_each_rule_type([&]<class R>() {
    if (index++ == rule) {
      passes = {kIsFactored<R>, kSumCount < R >> 0, kHasSecondInput<R>};
    }
  });
  return passes;
}

// Tensors that one kernel serves, as places in the plan.
struct Batch {
  std::size_t rule;
  Storage storage;
  std::int64_t first, count;  // places of all of them
  bool begun = false;
  std::vector<std::uint32_t> whole, large;
};

// Items of one kernel that no other items must come between.
struct Phase {
  bool by_blocks;
  std::vector<WorkItem> items;
  std::optional<MatrixLaunch> matrix = {};  // instead of items
};

// Each phase needs the ones before it finished. `reading` ones write no parameter.
struct Phases {
  std::vector<Phase> reading, writing;
};

class Planner {
 public:
  Planner(const StepRequest& request, const Tuning& tuning)
      : request_(request), tuning_(tuning), everything_first_(measures_everything_first(request)) {}

  WorkPlan run() {
    std::map<std::pair<std::size_t, Storage>, std::vector<std::size_t>> members;
    for (std::size_t i = 0; i < request_.tensors.size(); ++i) {
      const TensorStep& tensor = request_.tensors[i];
      members[{request_.groups[tensor.group].rule.index(),
               storage_of(tensor.dtype, tensor.gradient_dtype)}]
          .push_back(i);
    }
    std::vector<std::pair<Batch, Phases>> batches;
    for (const auto& [key, indices] : members) {
      Batch batch = place(key.first, key.second, indices);
      Phases phases = passes_of(batch.rule).more() ? many_passes(batch) : one_pass(batch);
      phases.writing.insert(phases.writing.begin(), clips(batch));
      batches.emplace_back(std::move(batch), std::move(phases));
    }
    if (everything_first_) {
      for (auto& [batch, phases] : batches) {
        launch(batch, phases.reading);
      }
      for (auto& [batch, phases] : batches) {
        launch(batch, phases.writing);
      }
    } else {
      for (auto& [batch, phases] : batches) {
        launch(batch, phases.reading);
        launch(batch, phases.writing);
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
                                .matrix = {}});
    }
    return std::move(plan_);
  }

 private:
  Batch place(std::size_t rule, Storage storage, const std::vector<std::size_t>& indices) {
    Batch batch{.rule = rule,
                .storage = storage,
                .first = static_cast<std::int64_t>(plan_.tensors.size()),
                .count = static_cast<std::int64_t>(indices.size()),
                .whole = {},
                .large = {}};
    const bool factored = passes_of(rule).factored;
    for (const std::size_t index : indices) {
      const TensorStep& tensor = request_.tensors[index];
      TensorRecord record = make_record(tensor, request_.groups[tensor.group], index, tuning_);
      reserve_scratch(record, storage == Storage::kDouble, factored);
      const auto at = static_cast<std::uint32_t>(plan_.tensors.size());
      plan_.tensors.push_back(record);
      plan_.order.push_back(index);
      reserve_matrix(at, storage == Storage::kDouble);
      const bool whole = record.chunks == 1 && record.size <= tuning_.whole_elements;
      (whole ? batch.whole : batch.large).push_back(at);
    }
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

  // Of the largest matrix and its iterations.
  void reserve_matrix(std::uint32_t at, bool is_double) {
    if (newton_schulz_of(at)) {
      const TensorRecord& each = record(at);
      const std::size_t elements = static_cast<std::size_t>(each.size) +
                                   newton_schulz_scratch(each.leading, each.size / each.leading);
      plan_.matrix_bytes = std::max(plan_.matrix_bytes, elements * (is_double ? 8 : 4));
    }
  }

  // A batch's first launch for warps begins its tensors.
  void launch(Batch& batch, const std::vector<Phase>& phases) {
    for (const Phase& phase : phases) {
      if (phase.items.empty() && !phase.matrix) {
        continue;
      }
      const bool begins = !phase.by_blocks && !phase.matrix && !batch.begun;
      batch.begun = batch.begun || begins;
      const auto begin = static_cast<std::int64_t>(plan_.items.size());
      plan_.items.insert(plan_.items.end(), phase.items.begin(), phase.items.end());
      plan_.launches.push_back({.rule = batch.rule,
                                .storage = batch.storage,
                                .by_blocks = phase.by_blocks,
                                .begin = begin,
                                .end = static_cast<std::int64_t>(plan_.items.size()),
                                .first_begun = batch.first,
                                .begun_count = begins ? batch.count : 0,
                                .matrix = phase.matrix});
    }
  }

  const TensorRecord& record(std::uint32_t at) const { return plan_.tensors[at]; }

  void add_items(std::vector<WorkItem>& items,
                 std::uint32_t at,
                 Work work,
                 std::int64_t count) const {
    for (std::int64_t index = 0; index < count; ++index) {
      items.push_back({.tensor = at, .work = work, .elements = 0, .index = index});
    }
  }

  void add_measure(std::vector<WorkItem>& items, const std::vector<std::uint32_t>& of) const {
    for (const std::uint32_t at : of) {
      add_items(items, at, Work::kMeasure, record(at).chunks);
    }
  }

  std::int64_t elements_of(const std::vector<std::uint32_t>& tensors) const {
    std::int64_t sum = 0;
    for (const std::uint32_t at : tensors) {
      sum += record(at).size;
    }
    return sum;
  }

  // Whether an update reads a tensor's elements one by one, which takes a warp several times
  // longer.
  bool reads_singly(std::uint32_t at) const {
    const TensorRecord& each = record(at);
    const std::size_t rule = request_.groups[request_.tensors[plan_.order[at]].group].rule.index();
    return passes_of(rule).singly || (each.rank >= 2 && (each.outer > 1 || each.span % 4 != 0));
  }

  std::vector<WorkItem> tiles_of(std::uint32_t at, std::int64_t left) const {
    return cut_tiles(record(at), at, reads_singly(at), left, tuning_);
  }

  void add_apply(std::vector<WorkItem>& items, const std::vector<std::uint32_t>& of) const {
    std::int64_t left = elements_of(of);
    for (const std::uint32_t at : of) {
      const std::vector<WorkItem> tiles = tiles_of(at, left);
      items.insert(items.end(), tiles.begin(), tiles.end());
      left -= record(at).size;
    }
  }

  Phase strided_means(const Batch& batch) const {
    Phase phase{.by_blocks = true, .items = {}};
    for (const auto* kind : {&batch.whole, &batch.large}) {
      for (const std::uint32_t at : *kind) {
        if (record(at).outer > 1 && record(at).size > 0) {
          add_items(phase.items, at, Work::kStridedMeans, ceiling(record(at).rows, kStridedTile));
        }
      }
    }
    return phase;
  }

  // Needs the measure pass of every batch: a batch with such items measures everything first.
  Phase clips(const Batch& batch) const {
    Phase phase{.by_blocks = true, .items = {}};
    for (const auto* kind : {&batch.whole, &batch.large}) {
      for (const std::uint32_t at : *kind) {
        if (clip_norm_of(request_.groups[request_.tensors[plan_.order[at]].group].rule)) {
          add_items(phase.items, at, Work::kClip, 1);
        }
      }
    }
    return phase;
  }

  Phases one_pass(const Batch& batch) const {
    Phases phases{.reading = {strided_means(batch)}, .writing = {}};
    Phase first{.by_blocks = false, .items = {}};
    Phase second{.by_blocks = false, .items = {}};
    if (everything_first_) {
      for (const auto* kind : {&batch.whole, &batch.large}) {
        add_measure(first.items, *kind);
        add_apply(second.items, *kind);
      }
      phases.reading.push_back(std::move(first));
      phases.writing.push_back(std::move(second));
      return phases;
    }
    // Small tensors go first: what they wait for is hidden behind the large ones.
    for (const std::uint32_t at : batch.whole) {
      first.items.push_back({.tensor = at,
                             .work = Work::kWhole,
                             .elements = static_cast<std::uint16_t>(record(at).size),
                             .index = 0});
    }
    if (tuning_.variant == Variant::kQueue) {
      add_queue(first.items, batch.large);
      phases.writing.push_back(std::move(first));
      return phases;
    }
    phases.writing.push_back(std::move(first));
    add_windows(phases.writing, batch.large);
    return phases;
  }

  // A pair of launches for each window; one window for all, without a limit.
  void add_windows(std::vector<Phase>& phases, const std::vector<std::uint32_t>& large) const {
    const std::int64_t window =
        tuning_.variant == Variant::kWindows ? tuning_.window_bytes : INT64_MAX;
    for (std::size_t next = 0; next < large.size();) {
      std::vector<std::uint32_t> inside;
      for (std::int64_t bytes = 0; next < large.size() && (inside.empty() || bytes < window);
           ++next) {
        inside.push_back(large[next]);
        bytes += gradient_bytes(large[next], record(large[next]).size);
      }
      Phase measure{.by_blocks = false, .items = {}};
      Phase apply{.by_blocks = false, .items = {}};
      add_measure(measure.items, inside);
      add_apply(apply.items, inside);
      phases.push_back(std::move(measure));
      phases.push_back(std::move(apply));
    }
  }

  std::int64_t gradient_bytes(std::uint32_t at, std::int64_t elements) const {
    const TensorStep& tensor = request_.tensors[plan_.order[at]];
    return elements * static_cast<std::int64_t>(size_of(tensor.gradient_dtype));
  }

  void add_queue(std::vector<WorkItem>& items, const std::vector<std::uint32_t>& large) const {
    std::vector<QueuedTensor> queued;
    std::int64_t left = elements_of(large);
    for (const std::uint32_t at : large) {
      queued.push_back({.at = at,
                        .chunks = record(at).chunks,
                        .chunk_bytes = gradient_bytes(at, record(at).chunk_elements),
                        .bytes = gradient_bytes(at, record(at).size),
                        .tiles = tiles_of(at, left)});
      left -= record(at).size;
    }
    const std::vector<WorkItem> ordered =
        order_queue(queued, tuning_.window_bytes, tuning_.beyond_bytes);
    items.insert(items.end(), ordered.begin(), ordered.end());
  }

  Phases many_passes(const Batch& batch) const {
    std::vector<std::uint32_t> all = batch.whole;
    all.insert(all.end(), batch.large.begin(), batch.large.end());
    Phase measure{.by_blocks = false, .items = {}};
    Phase factors{.by_blocks = true, .items = {}};
    Phase means{.by_blocks = true, .items = {}};
    Phase sums{.by_blocks = true, .items = {}};
    Phase apply{.by_blocks = false, .items = {}};
    add_measure(measure.items, all);
    for (const std::uint32_t at : all) {
      const TensorRecord& each = record(at);
      if (passes_of(batch.rule).factored && each.rank >= 2 && each.size > 0) {
        add_factors(factors.items, at);
        add_items(means.items,
                  at,
                  Work::kMatrixMeans,
                  ceiling(each.matrices, matrix_tile(each.matrix_rows)));
      }
      add_items(sums.items, at, Work::kSums, each.chunks);
    }
    const auto matrices_begin = std::stable_partition(
        all.begin(), all.end(), [&](std::uint32_t at) { return !newton_schulz_of(at); });
    add_apply(apply.items, {all.begin(), matrices_begin});
    Phases phases;
    phases.reading = {strided_means(batch), std::move(measure)};
    phases.writing = {std::move(factors), std::move(means), std::move(sums), std::move(apply)};
    for (auto at = matrices_begin; at != all.end(); ++at) {
      add_orthogonal(phases.writing, *at);
    }
    return phases;
  }

  // Set for tensors that their rule makes orthogonal.
  std::optional<NewtonSchulz> newton_schulz_of(std::uint32_t at) const {
    const TensorStep& tensor = request_.tensors[plan_.order[at]];
    return std::visit(
        [&]<class R>(const R& rule) -> std::optional<NewtonSchulz> {
          if constexpr (kIsOrthogonal<R>) {
            if (rule.orthogonalizes(tensor.layout.factored()) && tensor.layout.size > 0) {
              return rule.newton_schulz();
            }
          }
          return std::nullopt;
        },
        request_.groups[tensor.group].rule);
  }

  // One tensor after the other, so that they share the memory of the largest.
  void add_orthogonal(std::vector<Phase>& phases, std::uint32_t at) const {
    const TensorRecord& each = record(at);
    Phase input{.by_blocks = true, .items = {}};
    Phase apply{.by_blocks = false, .items = {}};
    add_items(input.items, at, Work::kMatrixInput, each.chunks);
    add_apply(apply.items, {at});
    phases.push_back(std::move(input));
    phases.push_back({.by_blocks = false,
                      .items = {},
                      .matrix = MatrixLaunch{.polynomial = *newton_schulz_of(at),
                                             .rows = each.leading,
                                             .columns = each.size / each.leading}});
    phases.push_back(std::move(apply));
  }

  void add_factors(std::vector<WorkItem>& items, std::uint32_t at) const {
    const TensorRecord& each = record(at);
    add_items(items,
              at,
              Work::kFactorColumns,
              ceiling(each.matrices * each.columns, factor_column_tile(each.matrix_rows)));
    add_items(
        items, at, Work::kFactorRows, ceiling(each.matrices * each.matrix_rows, kFactorRowTile));
  }

  const StepRequest& request_;
  const Tuning& tuning_;
  bool everything_first_;
  WorkPlan plan_;
};

}  // namespace

WorkPlan make_work_plan(const StepRequest& request, const Tuning& tuning) {
  return Planner(request, tuning).run();
}

}  // namespace sing::cuda
