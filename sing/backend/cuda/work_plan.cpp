// Cuts, orders and launches: see work_plan.hpp.
#include "sing/backend/cuda/work_plan.hpp"

#include <algorithm>
#include <map>

namespace sing::cuda {
namespace {

constexpr std::int64_t ceiling(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// A mean that does not exist; offsets of those that do are turned into pointers by the tables.
constexpr std::size_t kNoOffset = static_cast<std::size_t>(-1);

bool makes_more_passes(std::size_t rule) {
  bool found = false;
  std::size_t index = 0;
  for_each_rule_type([&]<class R>() {
    found = found || (index == rule && (kIsFactored<R> || kSumCount<R> > 0));
    ++index;
  });
  return found;
}

// Cuts a tensor into chunks of whole rows, or its rows into chunks where one is too long.
void cut_chunks(TensorRecord& record, std::int64_t wanted) {
  const bool by_rows = record.rank >= 2 && record.outer == 1 && record.size > 0;
  const std::int64_t rows = by_rows ? record.rows : 1;
  record.span = by_rows ? record.inner : record.size;
  record.chunks_per_row = 1;
  if (record.span <= wanted || (by_rows && record.span <= kMaxWholeRow)) {
    const std::int64_t most =
        record.span == 0 ? 1 : std::max<std::int64_t>(1, wanted / record.span);
    const std::int64_t even = ceiling(rows, ceiling(rows, most));
    record.chunk_elements = even * record.span;
    record.chunks = ceiling(rows, even);
  } else {
    const std::int64_t even = ceiling(record.span, ceiling(record.span, wanted));
    record.chunk_elements = ceiling(even, 4) * 4;
    record.chunks_per_row = ceiling(record.span, record.chunk_elements);
    record.chunks = rows * record.chunks_per_row;
  }
}

// A small tensor is one tile.
void cut_tiles(TensorRecord& record, const Tuning& tuning) {
  const bool whole = record.size <= tuning.whole_elements;
  record.tile_elements =
      whole ? std::max<std::int64_t>(4, ceiling(record.size, 4) * 4) : tuning.tile_elements;
  const bool has_magic = record.span > 1 && record.span < record.tile_elements;
  record.row_magic =
      has_magic ? static_cast<std::uint32_t>(ceiling(std::int64_t{1} << 32, record.span)) : 0;
}

TensorRecord make_record(const TensorStep& tensor, std::size_t index, const Tuning& tuning) {
  TensorRecord record{};
  record.index = static_cast<std::int64_t>(index);
  record.size = tensor.layout.size;
  record.outer = tensor.layout.outer;
  record.rows = tensor.layout.rows;
  record.inner = tensor.layout.inner;
  record.matrices = tensor.layout.matrices;
  record.matrix_rows = tensor.layout.matrix_rows;
  record.columns = tensor.layout.columns;
  record.rank = tensor.layout.rank;
  record.group = static_cast<std::int64_t>(tensor.group);
  record.parameter = tensor.parameter;
  std::copy(tensor.slots.begin(), tensor.slots.end(), record.slots);
  record.slow = tensor.slow;
  record.master = tensor.master;
  record.low_precision_copy = tensor.low_precision_copy;
  record.progress = tensor.progress;
  record.dtype = tensor.dtype;
  record.low_precision_dtype = tensor.low_precision_dtype;
  cut_chunks(record, tuning.chunk_elements);
  cut_tiles(record, tuning);
  return record;
}

// Tensors that one kernel serves, as places in the plan.
struct Batch {
  std::size_t rule;
  Storage storage;
  std::vector<std::uint32_t> whole, large;
};

// Items of one kernel that no other items must come between.
struct Phase {
  bool by_blocks;
  std::vector<WorkItem> items;
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
      Phases phases = makes_more_passes(batch.rule) ? many_passes(batch) : one_pass(batch);
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
      plan_.launches.push_back(
          {.rule = 0, .storage = Storage::kFull, .by_blocks = false, .begin = 0, .end = 0});
    }
    return std::move(plan_);
  }

 private:
  Batch place(std::size_t rule, Storage storage, const std::vector<std::size_t>& indices) {
    Batch batch{.rule = rule, .storage = storage, .whole = {}, .large = {}};
    const bool more_passes = makes_more_passes(rule);
    for (const std::size_t index : indices) {
      TensorRecord record = make_record(request_.tensors[index], index, tuning_);
      reserve_scratch(record, storage == Storage::kDouble, more_passes);
      const auto at = static_cast<std::uint32_t>(plan_.tensors.size());
      plan_.tensors.push_back(record);
      plan_.order.push_back(index);
      const bool whole = record.chunks == 1 && record.size <= tuning_.whole_elements;
      (whole ? batch.whole : batch.large).push_back(at);
    }
    return batch;
  }

  void reserve_scratch(TensorRecord& record, bool is_double, bool more_passes) {
    const std::size_t bytes = is_double ? 8 : 4;
    const auto reserve = [&](bool wanted, std::int64_t count) {
      const std::size_t offset = plan_.mean_bytes;
      if (wanted) {
        plan_.mean_bytes += (static_cast<std::size_t>(count) * bytes + 15) / 16 * 16;
      }
      return reinterpret_cast<void*>(wanted ? offset : kNoOffset);
    };
    record.row_means = reserve(record.rank >= 2, record.rows);
    record.matrix_means = reserve(more_passes && record.rank >= 2, record.matrices);
    record.first_partial = plan_.partial_count;
    plan_.partial_count += record.chunks;
    record.first_family = plan_.family_count;
    plan_.family_count += ceiling(record.chunks, kFamily);
  }

  void launch(const Batch& batch, const std::vector<Phase>& phases) {
    for (const Phase& phase : phases) {
      if (phase.items.empty()) {
        continue;
      }
      const auto begin = static_cast<std::int64_t>(plan_.items.size());
      plan_.items.insert(plan_.items.end(), phase.items.begin(), phase.items.end());
      plan_.launches.push_back({.rule = batch.rule,
                                .storage = batch.storage,
                                .by_blocks = phase.by_blocks,
                                .begin = begin,
                                .end = static_cast<std::int64_t>(plan_.items.size())});
    }
  }

  const TensorRecord& record(std::uint32_t at) const { return plan_.tensors[at]; }

  void add_items(std::vector<WorkItem>& items,
                 std::uint32_t at,
                 Work work,
                 std::int64_t count) const {
    for (std::int64_t index = 0; index < count; ++index) {
      items.push_back({.tensor = at, .work = work, .index = index});
    }
  }

  void add_measure(std::vector<WorkItem>& items, const std::vector<std::uint32_t>& of) const {
    for (const std::uint32_t at : of) {
      add_items(items, at, Work::kMeasure, record(at).chunks);
    }
  }

  std::int64_t tiles(std::uint32_t at) const {
    return std::max<std::int64_t>(1, ceiling(record(at).size, record(at).tile_elements));
  }

  void add_apply(std::vector<WorkItem>& items, const std::vector<std::uint32_t>& of) const {
    for (const std::uint32_t at : of) {
      add_items(items, at, Work::kApply, tiles(at));
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
      add_items(first.items, at, Work::kWhole, 1);
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

  // Measure items run ahead of apply items by at most a window of gradient bytes, or by one tensor
  // where that is more. A tensor's tiles are updated last to first: of a gradient larger than the
  // cache, the end is what is still in it.
  void add_queue(std::vector<WorkItem>& items, const std::vector<std::uint32_t>& large) const {
    std::size_t measuring = 0, applying = 0;
    std::int64_t measured_chunks = 0, applied_tiles = 0, ahead = 0;
    while (applying < large.size()) {
      const bool can_apply = applying < measuring;
      const bool can_measure = measuring < large.size();
      const std::int64_t more =
          can_measure ? gradient_bytes(large[measuring], record(large[measuring]).chunk_elements)
                      : 0;
      if (can_measure && (!can_apply || ahead + more <= tuning_.window_bytes)) {
        const std::uint32_t at = large[measuring];
        items.push_back({.tensor = at, .work = Work::kMeasure, .index = measured_chunks});
        ahead += more;
        if (++measured_chunks == record(at).chunks) {
          measured_chunks = 0;
          ++measuring;
        }
      } else {
        const std::uint32_t at = large[applying];
        const std::int64_t tile = tiles(at) - 1 - applied_tiles;
        items.push_back({.tensor = at, .work = Work::kApply, .index = tile});
        ahead -= gradient_bytes(at, record(at).tile_elements);
        if (++applied_tiles == tiles(at)) {
          applied_tiles = 0;
          ++applying;
        }
      }
    }
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
      if (each.rank >= 2 && each.size > 0) {
        add_factors(factors.items, at);
        add_items(means.items,
                  at,
                  Work::kMatrixMeans,
                  ceiling(each.matrices, matrix_tile(each.matrix_rows)));
      }
      add_items(sums.items, at, Work::kSums, each.chunks);
    }
    add_apply(apply.items, all);
    Phases phases;
    phases.reading = {strided_means(batch), std::move(measure)};
    phases.writing = {std::move(factors), std::move(means), std::move(sums), std::move(apply)};
    return phases;
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
