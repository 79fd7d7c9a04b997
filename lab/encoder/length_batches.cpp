// Sorts pools of sequences.
#include "lab/encoder/length_batches.hpp"

#include <algorithm>
#include <numeric>

#include "lab/random/shuffled.hpp"

namespace sing::lab::encoder {
namespace {

constexpr std::uint32_t kOrderPurpose = 0xE0;
constexpr std::uint32_t kBatchPurpose = 0xE1;
// Batches whose sequences are sorted together: enough for similar lengths, and few enough that
// which sequences meet changes with the epoch.
constexpr std::int64_t kPoolBatches = 64;
constexpr std::int64_t kColumnStep = 8;

}  // namespace

std::int64_t columns_for(std::int64_t longest, std::int64_t limit) {
  return std::min((longest + kColumnStep - 1) / kColumnStep * kColumnStep, limit);
}

LengthBatches::LengthBatches(std::vector<std::int64_t> lengths, std::uint64_t seed)
    : lengths_(std::move(lengths)), seed_(seed), by_length_(lengths_.size()) {
  std::iota(by_length_.begin(), by_length_.end(), std::uint64_t{0});
  std::stable_sort(
      by_length_.begin(), by_length_.end(),
      [&](std::uint64_t one, std::uint64_t other) { return lengths_[one] < lengths_[other]; });
}

std::vector<std::uint64_t> LengthBatches::arranged(std::int64_t epoch, std::int64_t size) const {
  std::vector<std::uint64_t> sequences =
      random::shuffled(static_cast<std::int64_t>(lengths_.size()),
                       {seed_, static_cast<std::uint64_t>(epoch), kOrderPurpose});
  const auto batches = static_cast<std::int64_t>(sequences.size()) / size;
  sequences.resize(static_cast<std::size_t>(batches * size));
  const auto pool = static_cast<std::size_t>(kPoolBatches * size);
  for (std::size_t begin = 0; begin < sequences.size(); begin += pool) {
    const auto first = sequences.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto end = first + static_cast<std::ptrdiff_t>(std::min(pool, sequences.size() - begin));
    std::stable_sort(first, end, [&](std::uint64_t one, std::uint64_t other) {
      return lengths_[one] < lengths_[other];
    });
  }
  return sequences;
}

std::span<const std::uint64_t> LengthBatches::training(std::int64_t epoch, std::int64_t index,
                                                       std::int64_t size) {
  if (epoch != epoch_ || size != size_) {
    training_ = arranged(epoch, size);
    batch_order_ = random::shuffled(static_cast<std::int64_t>(training_.size()) / size,
                                    {seed_, static_cast<std::uint64_t>(epoch), kBatchPurpose});
    epoch_ = epoch;
    size_ = size;
  }
  const std::uint64_t batch = batch_order_[static_cast<std::size_t>(index)];
  return std::span<const std::uint64_t>(training_).subspan(
      static_cast<std::size_t>(batch) * static_cast<std::size_t>(size),
      static_cast<std::size_t>(size));
}

double LengthBatches::padding_share(std::int64_t size, std::int64_t limit) const {
  const std::vector<std::uint64_t> sequences = arranged(0, size);
  std::int64_t tokens = 0;
  std::int64_t places = 0;
  std::int64_t longest = 0;
  for (std::size_t place = 0; place < sequences.size(); ++place) {
    tokens += lengths_[sequences[place]];
    longest = std::max(longest, lengths_[sequences[place]]);
    if ((place + 1) % static_cast<std::size_t>(size) == 0) {  // the end of a batch
      places += size * columns_for(longest, limit);
      longest = 0;
    }
  }
  return places > 0 ? 1 - static_cast<double>(tokens) / static_cast<double>(places) : 0;
}

std::span<const std::uint64_t> LengthBatches::evaluation(std::int64_t index,
                                                         std::int64_t size) const {
  const auto first = static_cast<std::size_t>(index * size);
  return std::span<const std::uint64_t>(by_length_)
      .subspan(first, std::min(static_cast<std::size_t>(size), by_length_.size() - first));
}

}  // namespace sing::lab::encoder
