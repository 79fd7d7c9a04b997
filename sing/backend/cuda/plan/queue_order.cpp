// Interleaves measure and apply items; queue_order.hpp says by which rule.
#include "sing/backend/cuda/plan/queue_order.hpp"

#include <algorithm>

namespace sing::cuda {
namespace {

// Appends the measure items of all tensors to a queue, in order.
class MeasureCursor {
 public:
  explicit MeasureCursor(std::span<const QueuedTensor> tensors) : tensors_(tensors) {}

  // Gradient bytes measured so far. All chunks count as if they were as long as the first, and the
  // last byte of a tensor counts with its last chunk.
  std::int64_t bytes() const { return bytes_; }

  // Appends items until at least `wanted` bytes are measured.
  void advance_to(std::int64_t wanted, std::vector<WorkItem>& items) {
    while (tensor_ < tensors_.size() && bytes_ < wanted) {
      const QueuedTensor& tensor = tensors_[tensor_];
      items.push_back(
          {.tensor = tensor.position, .kind = WorkKind::kMeasure, .elements = 0, .index = chunk_});
      const std::int64_t end = begin_ + tensor.bytes;
      bytes_ = std::min(bytes_ + tensor.chunk_bytes, end - 1);
      if (++chunk_ == tensor.chunks) {
        begin_ = bytes_ = end;
        chunk_ = 0;
        ++tensor_;
      }
    }
  }

 private:
  std::span<const QueuedTensor> tensors_;
  std::size_t tensor_ = 0;
  std::int64_t chunk_ = 0, begin_ = 0, bytes_ = 0;
};

}  // namespace

std::vector<WorkItem> order_queue(std::span<const QueuedTensor> tensors,
                                  std::int64_t window_bytes) {
  std::vector<WorkItem> items;
  MeasureCursor measuring(tensors);
  std::int64_t begin = 0;  // first byte of the tensor that is applied
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const std::int64_t end = begin + tensors[k].bytes;
    measuring.advance_to(end + tensors[k].beyond_bytes, items);
    const std::int64_t from = measuring.bytes();
    const std::int64_t next =
        k + 1 < tensors.size() ? tensors[k + 1].bytes + tensors[k + 1].beyond_bytes : 0;
    const auto to_measure = static_cast<double>(std::max(end + next - from, std::int64_t{0}));
    std::int64_t elements = 0;  // in the tiles so far
    for (const WorkItem& tile : tensors[k].tiles) {
      const double share = static_cast<double>(elements) / static_cast<double>(tensors[k].elements);
      const auto applied =
          begin + static_cast<std::int64_t>(share * static_cast<double>(tensors[k].bytes));
      measuring.advance_to(from + static_cast<std::int64_t>(share * to_measure), items);
      measuring.advance_to(applied + window_bytes, items);
      items.push_back(tile);
      elements += tile.elements;
    }
    begin = end;
  }
  return items;
}

}  // namespace sing::cuda
