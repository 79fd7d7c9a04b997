// Cuts one tensor into chunks and tiles.
#include "sing/backend/cuda/plan/tensor_record.hpp"

#include <algorithm>

namespace sing::cuda {
namespace {

constexpr std::int64_t kPack = 4;  // elements of a pack, for float32 and narrower types
// Longest chunks of two slow kinds: those read element by element, and those of rows so short that
// several share a warp. A warp takes several times longer per element of them, and the whole step
// of a small network would wait for one such chunk of the usual length.
constexpr std::int64_t kByElementChunk = 512;
constexpr std::int64_t kShortRow = 64;
constexpr std::int64_t kShortRowsChunk = 1024;

// Cuts a tensor into chunks of whole rows, or into parts of rows where a row is too long.
void cut_chunks(TensorRecord& record, std::int64_t wanted) {
  const bool by_rows = record.rank >= 2 && record.outer == 1 && record.size > 0;
  const std::int64_t rows = by_rows ? record.rows : 1;
  record.row_length = by_rows ? record.inner : record.size;
  record.chunks_per_row = 1;
  if (by_rows && record.row_length % kPack != 0) {
    wanted = std::min(wanted, kByElementChunk);
  } else if (by_rows && record.row_length <= kShortRow) {
    wanted = std::min(wanted, kShortRowsChunk);
  }
  if (record.row_length <= wanted || (by_rows && record.row_length <= kMaxWholeRow)) {
    const std::int64_t most =
        record.row_length == 0 ? 1 : std::max<std::int64_t>(1, wanted / record.row_length);
    const std::int64_t even = ceiling(rows, ceiling(rows, most));
    record.chunk_rows = even;
    record.chunk_elements = even * record.row_length;
    record.chunks = ceiling(rows, even);
  } else {
    const std::int64_t even = ceiling(record.row_length, ceiling(record.row_length, wanted));
    record.chunk_elements = ceiling(even, 4) * 4;
    record.chunks_per_row = ceiling(record.row_length, record.chunk_elements);
    record.chunks = rows * record.chunks_per_row;
  }
}

void set_row_reciprocal(TensorRecord& record, const StepTuning& tuning) {
  const std::int64_t largest_tile = std::max(tuning.small_elements, tuning.tile_elements);
  const bool has_reciprocal = record.row_length > 1 && record.row_length < largest_tile;
  record.row_reciprocal =
      has_reciprocal ? static_cast<std::uint32_t>(ceiling(std::int64_t{1} << 32, record.row_length))
                     : 0;
}

}  // namespace

TensorRecord make_record(const TensorStep& tensor, const GroupStep& group, std::size_t index,
                         const StepTuning& tuning) {
  TensorRecord record{};
  record.index = static_cast<std::int64_t>(index);
  record.size = tensor.layout.size;
  record.centralizes = group.standardize.centralizes(tensor.layout.rank) && record.size > 0;
  record.outer = tensor.layout.outer;
  record.rows = tensor.layout.rows;
  record.inner = tensor.layout.inner;
  record.matrices = tensor.layout.matrices;
  record.matrix_rows = tensor.layout.matrix_rows;
  record.columns = tensor.layout.columns;
  record.rank = tensor.layout.rank;
  record.leading = tensor.layout.leading;
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
  set_row_reciprocal(record, tuning);
  return record;
}

std::vector<WorkItem> cut_tiles(const TensorRecord& record, std::uint32_t position, bool by_element,
                                std::int64_t left, const StepTuning& tuning) {
  constexpr std::int64_t kUnit = 32 * kPack;  // one pack per lane of a warp
  const std::int64_t most = by_element ? std::min(tuning.tile_elements, tuning.least_tile_elements)
                                       : tuning.tile_elements;
  std::vector<WorkItem> tiles;
  std::int64_t begin = 0;
  do {
    const std::int64_t share = (left - begin) / tuning.tiles_left / kUnit * kUnit;
    const std::int64_t wanted = std::min(most, std::max(share, tuning.least_tile_elements));
    const std::int64_t elements = std::min(wanted, record.size - begin);
    tiles.push_back({.tensor = position,
                     .kind = WorkKind::kApply,
                     .elements = static_cast<std::uint16_t>(elements),
                     .index = begin});
    begin += elements;
  } while (begin < record.size);
  return tiles;
}

}  // namespace sing::cuda
