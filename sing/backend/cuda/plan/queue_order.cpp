// Measures ahead, applies behind: see queue_order.hpp.
#include "sing/backend/cuda/plan/queue_order.hpp"

#include <algorithm>

namespace sing::cuda {
namespace {

// Hands out the chunks of all tensors, one after the other.
class Measuring {
 public:
  explicit Measuring(std::span<const QueuedTensor> tensors) : tensors_(tensors) {}

  // Gradient bytes from the start of the list. Counts a tensor as a whole with its last chunk only:
  // parts of rows count as if all were as long as the first.
  std::int64_t bytes() const { return bytes_; }

  void until(std::int64_t wanted, std::vector<WorkItem>& items) {
    while (tensor_ < tensors_.size() && bytes_ < wanted) {
      const QueuedTensor& tensor = tensors_[tensor_];
      items.push_back(
          {.tensor = tensor.at, .work = Work::kMeasure, .elements = 0, .index = chunk_});
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
  Measuring measuring(tensors);
  std::int64_t begin = 0;  // of the tensor that is applied
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const std::int64_t end = begin + tensors[k].bytes;
    measuring.until(end + tensors[k].beyond, items);
    const std::int64_t from = measuring.bytes();
    const std::int64_t next =
        k + 1 < tensors.size() ? tensors[k + 1].bytes + tensors[k + 1].beyond : 0;
    const auto to_measure = static_cast<double>(std::max(end + next - from, std::int64_t{0}));
    std::int64_t elements = 0;  // of the tiles so far
    for (const WorkItem& tile : tensors[k].tiles) {
      const double share = static_cast<double>(elements) / static_cast<double>(tensors[k].elements);
      const auto applied =
          begin + static_cast<std::int64_t>(share * static_cast<double>(tensors[k].bytes));
      measuring.until(from + static_cast<std::int64_t>(share * to_measure), items);
      measuring.until(applied + window_bytes, items);
      items.push_back(tile);
      elements += tile.elements;
    }
    begin = end;
  }
  return items;
}

}  // namespace sing::cuda
