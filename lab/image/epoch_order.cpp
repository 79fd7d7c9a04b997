// Computes and keeps the order of one epoch.
#include "lab/image/epoch_order.hpp"

#include <numeric>

#include "lab/random/shuffled.hpp"

namespace sing::lab::image {
namespace {

constexpr std::uint32_t kOrderPurpose = 2;

}  // namespace

EpochOrder::EpochOrder(std::uint64_t seed, std::int64_t training_count, std::int64_t test_count)
    : seed_(seed), training_count_(training_count), test_(static_cast<std::size_t>(test_count)) {
  std::iota(test_.begin(), test_.end(), std::uint64_t{0});
}

std::span<const std::uint64_t> EpochOrder::indices(Split subset, std::int64_t epoch,
                                                   std::int64_t first, std::int64_t count) {
  if (subset == Split::kTraining && epoch != epoch_) {
    training_ = random::shuffled(
        training_count_,
        random::RandomStream(seed_, static_cast<std::uint64_t>(epoch), kOrderPurpose));
    epoch_ = epoch;
  }
  const std::span<const std::uint64_t> all = subset == Split::kTraining ? training_ : test_;
  return all.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
}

}  // namespace sing::lab::image
