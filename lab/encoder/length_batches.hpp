// Divides sequences into batches of similar lengths, so that little of a batch is filled up.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sing::lab::encoder {

class LengthBatches {
 public:
  LengthBatches(std::vector<std::int64_t> lengths, std::uint64_t seed);

  // Batch number `index` of an epoch of training, of exactly `size` sequences: chosen at random,
  // put together by length, in random order. Depends only on the arguments and those of the
  // constructor. Valid until the next call.
  std::span<const std::uint64_t> training(std::int64_t epoch, std::int64_t index,
                                          std::int64_t size);
  // Batch number `index` of all sequences, in the order of their lengths; the last may be smaller.
  std::span<const std::uint64_t> evaluation(std::int64_t index, std::int64_t size) const;

 private:
  std::vector<std::int64_t> lengths_;
  std::uint64_t seed_;
  std::vector<std::uint64_t> by_length_;
  // The epoch and the size that training_ holds.
  std::int64_t epoch_ = -1, size_ = 0;
  std::vector<std::uint64_t> training_;
  std::vector<std::uint64_t> batch_order_;
};

}  // namespace sing::lab::encoder
