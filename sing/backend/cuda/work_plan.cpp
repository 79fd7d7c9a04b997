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
void cut(TensorRecord& record, std::int64_t capacity) {
  const bool by_rows = record.rank >= 2 && record.outer == 1 && record.size > 0;
  const std::int64_t rows = by_rows ? record.rows : 1;
  record.span = by_rows ? record.inner : record.size;
  record.chunks_per_row = 1;
  if (record.span <= capacity) {
    const std::int64_t most = record.span == 0 ? 1 : capacity / record.span;
    const std::int64_t even = ceiling(rows, ceiling(rows, most));
    record.chunk_elements = even * record.span;
    record.chunks = ceiling(rows, even);
  } else {
    const std::int64_t even = ceiling(record.span, ceiling(record.span, capacity));
    record.chunk_elements = ceiling(even, 4) * 4;
    record.chunks_per_row = ceiling(record.span, record.chunk_elements);
    record.chunks = rows * record.chunks_per_row;
  }
  const bool has_magic = record.span > 1 && record.span <= kMaxChunkElements;
  record.row_magic =
      has_magic ? static_cast<std::uint32_t>(ceiling(std::int64_t{1} << 32, record.span)) : 0;
}

TensorRecord make_record(const TensorStep& tensor, std::size_t index, std::int64_t capacity) {
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
  cut(record, capacity);
  return record;
}

// Tensors that one kernel serves, as places in the plan.
struct Batch {
  std::size_t rule;
  bool is_double;
  std::vector<std::uint32_t> tiny, whole, large;
};

// Item lists, each of which needs the ones before it finished. `reading` ones write no parameter.
struct Phases {
  std::vector<std::vector<WorkItem>> reading, writing;
};

class Planner {
 public:
  Planner(const StepRequest& request, const Tuning& tuning)
      : request_(request),
        tuning_(tuning),
        everything_first_(measures_everything_first(request.non_finite)) {}

  WorkPlan run() {
    std::map<std::pair<std::size_t, bool>, std::vector<std::size_t>> members;
    for (std::size_t i = 0; i < request_.tensors.size(); ++i) {
      const TensorStep& tensor = request_.tensors[i];
      members[{request_.groups[tensor.group].rule.index(), tensor.dtype == Dtype::kFloat64}]
          .push_back(i);
    }
    std::vector<std::pair<Batch, Phases>> batches;
    for (const auto& [key, indices] : members) {
      Batch batch = place(key.first, key.second, indices);
      Phases phases = makes_more_passes(batch.rule) ? many_passes(batch) : one_pass(batch);
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
      plan_.launches.push_back({.rule = 0, .is_double = false, .begin = 0, .end = 0});
    }
    return std::move(plan_);
  }

 private:
  // Tiny tensors stand together, so that one item can name several.
  Batch place(std::size_t rule, bool is_double, const std::vector<std::size_t>& indices) {
    Batch batch{.rule = rule, .is_double = is_double, .tiny = {}, .whole = {}, .large = {}};
    const bool more_passes = makes_more_passes(rule);
    for (const bool tiny : {true, false}) {
      for (const std::size_t index : indices) {
        TensorRecord record = make_record(request_.tensors[index], index, tuning_.chunk_elements);
        const bool is_tiny = record.size <= kWarpElements && !more_passes;
        if (is_tiny != tiny) {
          continue;
        }
        reserve_scratch(record, is_double, more_passes);
        const auto at = static_cast<std::uint32_t>(plan_.tensors.size());
        plan_.tensors.push_back(record);
        plan_.order.push_back(index);
        auto& kind = is_tiny ? batch.tiny : record.chunks == 1 ? batch.whole : batch.large;
        kind.push_back(at);
      }
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
  }

  void launch(const Batch& batch, const std::vector<std::vector<WorkItem>>& phases) {
    for (const std::vector<WorkItem>& phase : phases) {
      if (phase.empty()) {
        continue;
      }
      const auto begin = static_cast<std::int64_t>(plan_.items.size());
      plan_.items.insert(plan_.items.end(), phase.begin(), phase.end());
      plan_.launches.push_back({.rule = batch.rule,
                                .is_double = batch.is_double,
                                .begin = begin,
                                .end = static_cast<std::int64_t>(plan_.items.size())});
    }
  }

  const TensorRecord& record(std::uint32_t at) const { return plan_.tensors[at]; }

  void add_tiles(std::vector<WorkItem>& items,
                 std::uint32_t at,
                 Work work,
                 std::int64_t count) const {
    for (std::int64_t tile = 0; tile < count; ++tile) {
      items.push_back({.tensor = at, .work = work, .index = tile});
    }
  }

  void add_chunks(std::vector<WorkItem>& items,
                  const std::vector<std::uint32_t>& of,
                  Work work) const {
    for (const std::uint32_t at : of) {
      add_tiles(items, at, work, record(at).chunks);
    }
  }

  void add_tiny(std::vector<WorkItem>& items, const Batch& batch, Work work) const {
    const auto warps = static_cast<std::size_t>(tuning_.threads / 32);
    for (std::size_t first = 0; first < batch.tiny.size(); first += warps) {
      const std::size_t count = std::min(warps, batch.tiny.size() - first);
      items.push_back(
          {.tensor = batch.tiny[first], .work = work, .index = static_cast<std::int64_t>(count)});
    }
  }

  std::vector<WorkItem> strided_means(const Batch& batch) const {
    std::vector<WorkItem> items;
    for (const auto* kind : {&batch.tiny, &batch.whole, &batch.large}) {
      for (const std::uint32_t at : *kind) {
        if (record(at).outer > 1 && record(at).size > 0) {
          add_tiles(items, at, Work::kStridedMeans, ceiling(record(at).rows, kStridedTile));
        }
      }
    }
    return items;
  }

  Phases one_pass(const Batch& batch) const {
    Phases phases{.reading = {strided_means(batch)}, .writing = {}};
    if (everything_first_) {
      std::vector<WorkItem> measure, apply;
      add_tiny(measure, batch, Work::kTinyMeasure);
      add_chunks(measure, batch.whole, Work::kMeasure);
      add_chunks(measure, batch.large, Work::kMeasure);
      add_tiny(apply, batch, Work::kTinyApply);
      add_chunks(apply, batch.whole, Work::kApply);
      add_chunks(apply, batch.large, Work::kApply);
      phases.reading.push_back(std::move(measure));
      phases.writing.push_back(std::move(apply));
      return phases;
    }
    // Small tensors go first: what they wait for is hidden behind the large ones.
    std::vector<WorkItem> small;
    add_tiny(small, batch, Work::kTinyWhole);
    add_chunks(small, batch.whole, Work::kWhole);
    if (tuning_.variant == Variant::kQueue) {
      add_queue(small, batch.large);
      phases.writing.push_back(std::move(small));
      return phases;
    }
    phases.writing.push_back(std::move(small));
    const std::int64_t window =
        tuning_.variant == Variant::kWindows ? tuning_.window_bytes : INT64_MAX;
    for (std::size_t first = 0; first < batch.large.size();) {
      std::vector<std::uint32_t> inside;
      for (std::int64_t bytes = 0; first < batch.large.size() && (inside.empty() || bytes < window);
           ++first) {
        inside.push_back(batch.large[first]);
        bytes += gradient_bytes(batch.large[first], record(batch.large[first]).size);
      }
      std::vector<WorkItem> measure, apply;
      add_chunks(measure, inside, Work::kMeasure);
      add_chunks(apply, inside, Work::kApply);
      phases.writing.push_back(std::move(measure));
      phases.writing.push_back(std::move(apply));
    }
    return phases;
  }

  std::int64_t gradient_bytes(std::uint32_t at, std::int64_t elements) const {
    const TensorStep& tensor = request_.tensors[plan_.order[at]];
    return elements * static_cast<std::int64_t>(size_of(tensor.gradient_dtype));
  }

  // Measure items run ahead of apply items by at most a window of gradient bytes, or by one tensor
  // where that is more. A tensor's chunks are applied last to first: of a gradient larger than the
  // cache, the end is what is still in it.
  void add_queue(std::vector<WorkItem>& items, const std::vector<std::uint32_t>& large) const {
    std::size_t measuring = 0, applying = 0;
    std::int64_t measured_chunks = 0, applied_chunks = 0, ahead = 0;
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
        items.push_back(
            {.tensor = at, .work = Work::kApply, .index = record(at).chunks - 1 - applied_chunks});
        ahead -= gradient_bytes(at, record(at).chunk_elements);
        if (++applied_chunks == record(at).chunks) {
          applied_chunks = 0;
          ++applying;
        }
      }
    }
  }

  Phases many_passes(const Batch& batch) const {
    std::vector<std::uint32_t> all = batch.whole;
    all.insert(all.end(), batch.large.begin(), batch.large.end());
    std::vector<WorkItem> measure, factors, means, sums, apply;
    add_chunks(measure, all, Work::kMeasure);
    for (const std::uint32_t at : all) {
      const TensorRecord& each = record(at);
      if (each.rank >= 2 && each.size > 0) {
        const std::int64_t columns = factor_column_tile(each.matrix_rows);
        add_tiles(
            factors, at, Work::kFactorColumns, ceiling(each.matrices * each.columns, columns));
        add_tiles(factors,
                  at,
                  Work::kFactorRows,
                  ceiling(each.matrices * each.matrix_rows, kFactorRowTile));
        add_tiles(
            means, at, Work::kMatrixMeans, ceiling(each.matrices, matrix_tile(each.matrix_rows)));
      }
    }
    add_chunks(sums, all, Work::kSums);
    add_chunks(apply, all, Work::kApply);
    return {.reading = {strided_means(batch), std::move(measure)},
            .writing = {std::move(factors), std::move(means), std::move(sums), std::move(apply)}};
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
