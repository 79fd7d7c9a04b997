// Cuts one tensor into chunks and tiles.
#include "sing/backend/cuda/plan/tensor_record.hpp"

#include <algorithm>

namespace sing::cuda {
namespace {

// Elements that a lane reads at once, of float32 and narrower types.
constexpr std::int64_t kPack = 4;
// Elements of chunks that are read one by one, and of chunks of rows so short that a warp sums
// several at once: a warp takes several times longer for them, and a whole step of a small network
// would wait for one such chunk.
constexpr std::int64_t kSinglyChunk = 512;
constexpr std::int64_t kShortRow = 64;
constexpr std::int64_t kShortRowsChunk = 1024;

// Cuts a tensor into chunks of whole rows, or its rows into chunks where one is too long.
void cut_chunks(TensorRecord& record, std::int64_t wanted) {
  const bool by_rows = record.rank >= 2 && record.outer == 1 && record.size > 0;
  const std::int64_t rows = by_rows ? record.rows : 1;
  record.span = by_rows ? record.inner : record.size;
  record.chunks_per_row = 1;
  if (by_rows && record.span % kPack != 0) {
    wanted = std::min(wanted, kSinglyChunk);
  } else if (by_rows && record.span <= kShortRow) {
    wanted = std::min(wanted, kShortRowsChunk);
  }
  if (record.span <= wanted || (by_rows && record.span <= kMaxWholeRow)) {
    const std::int64_t most =
        record.span == 0 ? 1 : std::max<std::int64_t>(1, wanted / record.span);
    const std::int64_t even = ceiling(rows, ceiling(rows, most));
    record.chunk_rows = even;
    record.chunk_elements = even * record.span;
    record.chunks = ceiling(rows, even);
  } else {
    const std::int64_t even = ceiling(record.span, ceiling(record.span, wanted));
    record.chunk_elements = ceiling(even, 4) * 4;
    record.chunks_per_row = ceiling(record.span, record.chunk_elements);
    record.chunks = rows * record.chunks_per_row;
  }
}

void mark_short_rows(TensorRecord& record, const Tuning& tuning) {
  const std::int64_t largest_tile = std::max(tuning.whole_elements, tuning.tile_elements);
  const bool has_magic = record.span > 1 && record.span < largest_tile;
  record.row_magic =
      has_magic ? static_cast<std::uint32_t>(ceiling(std::int64_t{1} << 32, record.span)) : 0;
}

}  // namespace

TensorRecord make_record(const TensorStep& tensor, const GroupStep& group, std::size_t index,
                         const Tuning& tuning) {
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
  mark_short_rows(record, tuning);
  return record;
}

std::vector<WorkItem> cut_tiles(const TensorRecord& record, std::uint32_t at, bool singly,
                                std::int64_t left, const Tuning& tuning) {
  constexpr std::int64_t kUnit = 32 * kPack;  // a pack of each lane of a warp
  const std::int64_t most =
      singly ? std::min(tuning.tile_elements, tuning.least_tile_elements) : tuning.tile_elements;
  std::vector<WorkItem> tiles;
  std::int64_t begin = 0;
  do {
    const std::int64_t share = (left - begin) / tuning.tiles_left / kUnit * kUnit;
    const std::int64_t wanted = std::min(most, std::max(share, tuning.least_tile_elements));
    const std::int64_t elements = std::min(wanted, record.size - begin);
    tiles.push_back({.tensor = at,
                     .work = Work::kApply,
                     .elements = static_cast<std::uint16_t>(elements),
                     .index = begin});
    begin += elements;
  } while (begin < record.size);
  return tiles;
}

}  // namespace sing::cuda
