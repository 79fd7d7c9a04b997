// Divides sequences into batches of similar lengths, so that little of a batch is filled up.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sing::lab::encoder {

// The number of columns of a batch whose longest sequence has `longest` tokens: a multiple of 8, so
// that few shapes occur, but at most `limit`.
std::int64_t columns_for(std::int64_t longest, std::int64_t limit);

class LengthBatches {
 public:
  LengthBatches(std::vector<std::int64_t> lengths, std::uint64_t seed);

  // Batch number `index` of an epoch of training, of exactly `size` sequences: chosen at random,
  // put together by length, in random order. Depends only on the arguments and those of the
  // constructor. Valid until the next call.
  std::span<const std::uint64_t> training(std::int64_t epoch, std::int64_t index,
                                          std::int64_t size);
  // Returns which share of the places in the first epoch's batches is padding. No batch has more
  // than `limit` columns.
  double padding_share(std::int64_t size, std::int64_t limit) const;
  // Batch number `index` of all sequences, in the order of their lengths; the last may be smaller.
  std::span<const std::uint64_t> evaluation(std::int64_t index, std::int64_t size) const;

 private:
  // The sequences of an epoch, batch after batch.
  std::vector<std::uint64_t> arranged(std::int64_t epoch, std::int64_t size) const;

  std::vector<std::int64_t> lengths_;
  std::uint64_t seed_;
  std::vector<std::uint64_t> by_length_;
  // The epoch and the size that training_ holds.
  std::int64_t epoch_ = -1, size_ = 0;
  std::vector<std::uint64_t> training_;
  std::vector<std::uint64_t> batch_order_;
};

}  // namespace sing::lab::encoder
