// Decides which items each phase has.
#include "sing/backend/cuda/plan/step_phases.hpp"

#include <algorithm>

#include "sing/backend/cuda/plan/queue_order.hpp"
#include "sing/backend/cuda/plan/rule_passes.hpp"
#include "sing/backend/cuda/plan/tensor_record.hpp"

namespace sing::cuda {
namespace {

class PhaseMaker {
 public:
  PhaseMaker(const PlanTensors& plan, const KernelTensors& tensors, const StepTuning& tuning)
      : plan_(plan), tensors_(tensors), passes_(passes_of(tensors.rule)), tuning_(tuning) {}

  Phases run() const {
    Phases phases;
    if (passes_.any()) {
      phases = rule_passes();
    } else if (measures_everything_first(plan_.request)) {
      phases = measure_then_apply();
    } else {
      phases = one_queue();
    }
    phases.reading.insert(phases.reading.begin(), strided_means());
    return phases;
  }

 private:
  const TensorRecord& record(std::uint32_t position) const { return plan_.records[position]; }
  const TensorStep& step_of(std::uint32_t position) const {
    return plan_.request.tensors[plan_.order[position]];
  }

  // Lists the small tensors first.
  std::vector<std::uint32_t> all() const {
    std::vector<std::uint32_t> positions = tensors_.small;
    positions.insert(positions.end(), tensors_.large.begin(), tensors_.large.end());
    return positions;
  }

  void add_items(std::vector<WorkItem>& items, std::uint32_t position, WorkKind kind,
                 std::int64_t count) const {
    for (std::int64_t index = 0; index < count; ++index) {
      items.push_back({.tensor = position, .kind = kind, .elements = 0, .index = index});
    }
  }

  // The chunks of whole tensors, and in a phase of their own those of shards.
  std::vector<Phase> measure(const std::vector<std::uint32_t>& tensors) const {
    Phase whole{.by_blocks = false, .items = {}};
    Phase shards{.by_blocks = false, .items = {}, .measures_shards = true};
    for (const std::uint32_t position : tensors) {
      add_items((step_of(position).shard != nullptr ? shards : whole).items, position,
                WorkKind::kMeasure, record(position).chunks);
    }
    return {std::move(whole), std::move(shards)};
  }

  std::int64_t elements_of(const std::vector<std::uint32_t>& tensors) const {
    std::int64_t sum = 0;
    for (const std::uint32_t position : tensors) {
      sum += record(position).size;
    }
    return sum;
  }

  // Returns whether an update reads a tensor's elements one by one, which takes a warp several
  // times longer.
  bool updates_by_element(std::uint32_t position) const {
    const TensorRecord& each = record(position);
    return passes_.by_element || (each.rank >= 2 && (each.outer > 1 || each.row_length % 4 != 0));
  }

  std::vector<WorkItem> tiles_of(std::uint32_t position, std::int64_t left) const {
    return cut_tiles(record(position), position, updates_by_element(position), left, tuning_);
  }

  void add_apply(std::vector<WorkItem>& items, const std::vector<std::uint32_t>& tensors) const {
    std::int64_t left = elements_of(tensors);
    for (const std::uint32_t position : tensors) {
      const std::vector<WorkItem> tiles = tiles_of(position, left);
      items.insert(items.end(), tiles.begin(), tiles.end());
      left -= record(position).size;
    }
  }

  Phase strided_means() const {
    Phase phase{.by_blocks = true, .items = {}};
    for (const std::uint32_t position : all()) {
      const TensorRecord& each = record(position);
      if (each.outer > 1 && each.size > 0) {
        add_items(phase.items, position, WorkKind::kStridedMeans, ceiling(each.rows, kStridedTile));
      }
    }
    return phase;
  }

  // One launch, in which measuring runs ahead of applying.
  Phases one_queue() const {
    Phase phase{.by_blocks = false, .items = {}};
    // Small tensors go first: work on the large ones hides their latency.
    for (const std::uint32_t position : tensors_.small) {
      phase.items.push_back({.tensor = position,
                             .kind = WorkKind::kMeasureAndApply,
                             .elements = static_cast<std::uint16_t>(record(position).size),
                             .index = 0});
    }
    const std::vector<WorkItem> ordered = order_queue(queued(), tuning_.window_bytes);
    phase.items.insert(phase.items.end(), ordered.begin(), ordered.end());
    return {.reading = {}, .summing = {}, .writing = {std::move(phase)}};
  }

  std::int64_t gradient_bytes(std::uint32_t position, std::int64_t elements) const {
    return elements * static_cast<std::int64_t>(size_of(step_of(position).gradient_dtype));
  }

  std::vector<QueuedTensor> queued() const {
    std::vector<QueuedTensor> queued;
    std::int64_t left = elements_of(tensors_.large);
    for (const std::uint32_t position : tensors_.large) {
      const TensorRecord& each = record(position);
      const std::int64_t bytes = gradient_bytes(position, each.size);
      queued.push_back({.position = position,
                        .chunks = each.chunks,
                        .chunk_bytes = gradient_bytes(position, each.chunk_elements),
                        .bytes = bytes,
                        .beyond_bytes = bytes > kMaxRetainedBytes ? tuning_.beyond_large_bytes
                                                                  : tuning_.beyond_bytes,
                        .elements = each.size,
                        .tiles = tiles_of(position, left)});
      left -= each.size;
    }
    return queued;
  }

  Phases measure_then_apply() const {
    Phase apply{.by_blocks = false, .items = {}};
    for (const auto* tensors : {&tensors_.small, &tensors_.large}) {
      add_apply(apply.items, *tensors);
    }
    return {.reading = measure(all()), .summing = {}, .writing = {std::move(apply)}};
  }

  // The passes of a rule that needs statistics between measuring and applying.
  Phases rule_passes() const {
    std::vector<std::uint32_t> tensors = all();
    Phase factors{.by_blocks = true, .items = {}};
    Phase means{.by_blocks = true, .items = {}};
    Phase sums{.by_blocks = true, .items = {}};
    Phase apply{.by_blocks = false, .items = {}};
    Phases phases;
    phases.reading = measure(tensors);
    for (const std::uint32_t position : tensors) {
      const TensorRecord& each = record(position);
      const bool is_shard = step_of(position).shard != nullptr;  // has factor stages of its own
      if (passes_.factored && each.rank >= 2 && each.size > 0 && !is_shard) {
        add_factors(factors.items, position);
        add_items(means.items, position, WorkKind::kMatrixMeans,
                  ceiling(each.matrices, matrix_tile(each.matrix_rows)));
      }
      add_items(sums.items, position, WorkKind::kSums, each.chunks);
    }
    std::erase_if(tensors, [&](std::uint32_t position) {
      return newton_schulz_of(plan_.request, step_of(position)).has_value();
    });
    add_apply(apply.items, tensors);
    phases.summing = {std::move(factors), std::move(means), std::move(sums)};
    phases.writing = {std::move(apply)};
    for (const MatrixBatch& batch : tensors_.matrices) {
      add_orthogonal(phases.writing, batch);
    }
    return phases;
  }

  // Each batch is applied before the next is written, because they share the memory.
  void add_orthogonal(std::vector<Phase>& phases, const MatrixBatch& batch) const {
    Phase input{.by_blocks = true, .items = {}};
    Phase apply{.by_blocks = false, .items = {}};
    for (const std::uint32_t position : batch.positions) {
      add_items(input.items, position, WorkKind::kMatrixInput, record(position).chunks);
    }
    add_apply(apply.items, batch.positions);
    phases.push_back(std::move(input));
    phases.push_back({.by_blocks = false, .items = {}, .matrices = batch.launch});
    phases.push_back(std::move(apply));
  }

  void add_factors(std::vector<WorkItem>& items, std::uint32_t position) const {
    const TensorRecord& each = record(position);
    add_items(items, position, WorkKind::kFactorColumns,
              ceiling(each.matrices * each.columns, factor_column_tile(each.matrix_rows)));
    add_items(items, position, WorkKind::kFactorRows,
              ceiling(each.matrices * each.matrix_rows, kFactorRowTile));
  }

  const PlanTensors& plan_;
  const KernelTensors& tensors_;
  RulePasses passes_;
  const StepTuning& tuning_;
};

}  // namespace

Phases make_phases(const PlanTensors& plan, const KernelTensors& tensors,
                   const StepTuning& tuning) {
  return PhaseMaker(plan, tensors, tuning).run();
}

}  // namespace sing::cuda
