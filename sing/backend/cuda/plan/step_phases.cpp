// Which items each phase has.
#include "sing/backend/cuda/plan/step_phases.hpp"

#include <algorithm>

#include "sing/backend/cuda/plan/queue_order.hpp"
#include "sing/backend/cuda/plan/rule_passes.hpp"
#include "sing/backend/cuda/plan/tensor_record.hpp"

namespace sing::cuda {
namespace {

class PhaseMaker {
 public:
  PhaseMaker(const PlacedTensors& tensors, const Batch& batch, const Tuning& tuning)
      : tensors_(tensors), batch_(batch), passes_(passes_of(batch.rule)), tuning_(tuning) {}

  Phases run() const {
    Phases phases = passes_.more() ? many_passes() : one_pass();
    phases.writing.insert(phases.writing.begin(), clips());
    return phases;
  }

 private:
  const TensorRecord& record(std::uint32_t at) const { return tensors_.records[at]; }
  const TensorStep& step_of(std::uint32_t at) const {
    return tensors_.request.tensors[tensors_.order[at]];
  }

  // Small ones first.
  std::vector<std::uint32_t> all() const {
    std::vector<std::uint32_t> places = batch_.whole;
    places.insert(places.end(), batch_.large.begin(), batch_.large.end());
    return places;
  }

  void add_items(std::vector<WorkItem>& items, std::uint32_t at, Work work,
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
    return passes_.singly || (each.rank >= 2 && (each.outer > 1 || each.span % 4 != 0));
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

  Phase strided_means() const {
    Phase phase{.by_blocks = true, .items = {}};
    for (const std::uint32_t at : all()) {
      if (record(at).outer > 1 && record(at).size > 0) {
        add_items(phase.items, at, Work::kStridedMeans, ceiling(record(at).rows, kStridedTile));
      }
    }
    return phase;
  }

  // Needs the measure pass of every batch: a batch with such items measures everything first.
  Phase clips() const {
    Phase phase{.by_blocks = true, .items = {}};
    for (const std::uint32_t at : all()) {
      if (clip_norm_of(tensors_.request.groups[step_of(at).group].rule)) {
        add_items(phase.items, at, Work::kClip, 1);
      }
    }
    return phase;
  }

  Phases one_pass() const {
    Phases phases{.reading = {strided_means()}, .writing = {}};
    Phase first{.by_blocks = false, .items = {}};
    if (measures_everything_first(tensors_.request)) {
      Phase second{.by_blocks = false, .items = {}};
      for (const auto* kind : {&batch_.whole, &batch_.large}) {
        add_measure(first.items, *kind);
        add_apply(second.items, *kind);
      }
      phases.reading.push_back(std::move(first));
      phases.writing.push_back(std::move(second));
      return phases;
    }
    // Small tensors go first: what they wait for is hidden behind the large ones.
    for (const std::uint32_t at : batch_.whole) {
      first.items.push_back({.tensor = at,
                             .work = Work::kWhole,
                             .elements = static_cast<std::uint16_t>(record(at).size),
                             .index = 0});
    }
    if (tuning_.variant == Variant::kQueue) {
      add_queue(first.items);
      phases.writing.push_back(std::move(first));
      return phases;
    }
    phases.writing.push_back(std::move(first));
    add_windows(phases.writing);
    return phases;
  }

  // A pair of launches for each window; one window for all, without a limit.
  void add_windows(std::vector<Phase>& phases) const {
    const std::vector<std::uint32_t>& large = batch_.large;
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
    return elements * static_cast<std::int64_t>(size_of(step_of(at).gradient_dtype));
  }

  void add_queue(std::vector<WorkItem>& items) const {
    std::vector<QueuedTensor> queued;
    std::int64_t left = elements_of(batch_.large);
    for (const std::uint32_t at : batch_.large) {
      queued.push_back({.at = at,
                        .chunks = record(at).chunks,
                        .chunk_bytes = gradient_bytes(at, record(at).chunk_elements),
                        .bytes = gradient_bytes(at, record(at).size),
                        .beyond = gradient_bytes(at, record(at).size) > kMostHeldBytes
                                      ? tuning_.beyond_large_bytes
                                      : tuning_.beyond_bytes,
                        .elements = record(at).size,
                        .tiles = tiles_of(at, left)});
      left -= record(at).size;
    }
    const std::vector<WorkItem> ordered = order_queue(queued, tuning_.window_bytes);
    items.insert(items.end(), ordered.begin(), ordered.end());
  }

  Phases many_passes() const {
    std::vector<std::uint32_t> tensors = all();
    Phase measure{.by_blocks = false, .items = {}};
    Phase factors{.by_blocks = true, .items = {}};
    Phase means{.by_blocks = true, .items = {}};
    Phase sums{.by_blocks = true, .items = {}};
    Phase apply{.by_blocks = false, .items = {}};
    add_measure(measure.items, tensors);
    for (const std::uint32_t at : tensors) {
      const TensorRecord& each = record(at);
      if (passes_.factored && each.rank >= 2 && each.size > 0) {
        add_factors(factors.items, at);
        add_items(means.items, at, Work::kMatrixMeans,
                  ceiling(each.matrices, matrix_tile(each.matrix_rows)));
      }
      add_items(sums.items, at, Work::kSums, each.chunks);
    }
    std::erase_if(tensors, [&](std::uint32_t at) {
      return newton_schulz_of(tensors_.request, step_of(at)).has_value();
    });
    add_apply(apply.items, tensors);
    Phases phases;
    phases.reading = {strided_means(), std::move(measure)};
    phases.writing = {std::move(factors), std::move(means), std::move(sums), std::move(apply)};
    for (const AlikeMatrices& alike : batch_.matrices) {
      add_orthogonal(phases.writing, alike);
    }
    return phases;
  }

  // One launch's matrices after the other's, so that they share the memory.
  void add_orthogonal(std::vector<Phase>& phases, const AlikeMatrices& alike) const {
    Phase input{.by_blocks = true, .items = {}};
    Phase apply{.by_blocks = false, .items = {}};
    for (const std::uint32_t at : alike.places) {
      add_items(input.items, at, Work::kMatrixInput, record(at).chunks);
    }
    add_apply(apply.items, alike.places);
    phases.push_back(std::move(input));
    phases.push_back({.by_blocks = false, .items = {}, .matrices = alike.launch});
    phases.push_back(std::move(apply));
  }

  void add_factors(std::vector<WorkItem>& items, std::uint32_t at) const {
    const TensorRecord& each = record(at);
    add_items(items, at, Work::kFactorColumns,
              ceiling(each.matrices * each.columns, factor_column_tile(each.matrix_rows)));
    add_items(items, at, Work::kFactorRows,
              ceiling(each.matrices * each.matrix_rows, kFactorRowTile));
  }

  const PlacedTensors& tensors_;
  const Batch& batch_;
  RulePasses passes_;
  const Tuning& tuning_;
};

}  // namespace

Phases make_phases(const PlacedTensors& tensors, const Batch& batch, const Tuning& tuning) {
  return PhaseMaker(tensors, batch, tuning).run();
}

}  // namespace sing::cuda
