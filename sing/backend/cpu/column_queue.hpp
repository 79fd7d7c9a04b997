// Hands the items of a plan out to workers, each of which stays in its own column while it can.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>

namespace sing::cpu {

// Items are numbered row by row, and each worker has one column. An item may have to wait only for
// items of earlier rows, and take() hands out an item that would have to wait only after all of
// those have been handed out. So no worker waits for an item that is still in the queue, even if
// workers run one after the other.
class ColumnQueue {
 public:
  explicit ColumnQueue(std::size_t columns)
      : columns_(columns), next_row_(std::make_unique<std::atomic<std::size_t>[]>(columns)) {}

  std::size_t bytes() const { return columns_ * sizeof(next_row_[0]); }

  // `items` is a multiple of the number of columns.
  void start(std::size_t items) {
    rows_ = items / columns_;
    for (std::size_t column = 0; column < columns_; ++column) {
      next_row_[column].store(0, std::memory_order_relaxed);
    }
  }

  // The next item for this worker: from its own column, or from the column that has progressed
  // least if its own is at its end or its next item would have to wait (!is_open(item)). Empty if
  // all items are taken.
  template <class IsOpen>
  std::optional<std::size_t> take(std::size_t worker, IsOpen is_open) {
    while (true) {
      std::size_t column = worker % columns_;
      std::size_t row = next_row_[column].load(std::memory_order_relaxed);
      if (row == rows_ || !is_open(row * columns_ + column)) {
        for (std::size_t other = 0; other < columns_; ++other) {
          const std::size_t next = next_row_[other].load(std::memory_order_relaxed);
          if (next < row) {
            column = other;
            row = next;
          }
        }
      }
      if (row == rows_) {
        return {};
      }
      if (next_row_[column].compare_exchange_strong(row, row + 1, std::memory_order_relaxed)) {
        return row * columns_ + column;
      }
    }
  }

 private:
  std::size_t columns_;
  std::size_t rows_ = 0;
  std::unique_ptr<std::atomic<std::size_t>[]>
      next_row_;  // the first row of each column that is not yet taken
};

}  // namespace sing::cpu
