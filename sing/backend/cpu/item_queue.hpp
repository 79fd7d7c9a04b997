// Hands the items of a plan out to workers, each of which keeps to its column while it can.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>

namespace sing::cpu {

// Items are numbered row by row. An item may wait for items of earlier rows only; take() hands out
// one that would have to wait only after all of those have been handed out. So nobody waits for an
// item that nobody works on, even if workers run one after the other.
class ItemQueue {
 public:
  explicit ItemQueue(std::size_t columns)
      : columns_(columns), next_row_(std::make_unique<std::atomic<std::size_t>[]>(columns)) {}

  std::size_t bytes() const { return columns_ * sizeof(next_row_[0]); }

  // `items` is a multiple of the number of columns.
  void start(std::size_t items) {
    rows_ = items / columns_;
    for (std::size_t column = 0; column < columns_; ++column) {
      next_row_[column].store(0, std::memory_order_relaxed);
    }
  }

  // The next item for this worker: of its own column, or, where that is at its end or would have to
  // wait (!is_open(item)), of the column that is furthest behind. Empty: all items are taken.
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
  std::unique_ptr<std::atomic<std::size_t>[]> next_row_;  // of each column, not yet taken
};

}  // namespace sing::cpu
